-- Takes a level over into the present run of the server, and counts a hold of it that was taken in another. What leases there
-- were is forgotten: who still has them counts them again.
local run, ends, lease = ARGV[1], ARGV[2], ARGV[3]
local BASE = 1000000000
local f = redis.call('HMGET', KEYS[1], 'run', 'told', 'period', 'window', 'heldh', 'heldl')
if f[1] ~= run and redis.call('EXISTS', KEYS[1]) == 1 then
	redis.call('DEL', KEYS[2])
	redis.call('HSET', KEYS[1], 'run', run, 'heldh', 0, 'heldl', 0)
end
if not lease or redis.call('ZADD', KEYS[2], 'NX', ends, lease) == 0 then return 0 end
redis.call('PEXPIREAT', KEYS[2], ends + 3600000)
local h, l, period, window = string.match(lease, '^%x+ (%d+) (%d+) (%S+):(%S+)$')
if f[2] == run and f[3] == period and f[4] == window then
	h, l = f[5] + h, f[6] + l
	h, l = h + math.floor(l / BASE), l % BASE
	redis.call('HSET', KEYS[1], 'heldh', string.format('%.0f', h), 'heldl', string.format('%.0f', l))
end
return 1
