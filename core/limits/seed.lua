-- Says what was spent in a period before it was counted here, where nothing is known of the period, or where what is known is
-- of another run of the server: the larger amount counts then. What is held is what the leases hold.
local BASE = 1000000000
local period, window, keep, run = ARGV[1], ARGV[2], tonumber(ARGV[5]), ARGV[6]
local h, l = tonumber(ARGV[3]), tonumber(ARGV[4])
local f = redis.call('HMGET', KEYS[1], 'period', 'told', 'window', 'spenth', 'spentl')
if f[1] == period and f[2] == run then return 0 end
if f[1] == period and f[3] == window then
	local oldh, oldl = tonumber(f[4]), tonumber(f[5])
	if oldh > h or oldh == h and oldl > l then h, l = oldh, oldl end
end
local heldh, heldl = 0, 0
for _, m in ipairs(redis.call('ZRANGE', KEYS[2], 0, -1)) do
	local mh, ml, w = string.match(m, '^%x+ (%d+) (%d+) (%S+)$')
	if w == period .. ':' .. window then heldh, heldl = heldh + mh, heldl + ml end
end
heldh, heldl = heldh + math.floor(heldl / BASE), heldl % BASE
local function whole(x) return string.format('%.0f', x) end
redis.call('HSET', KEYS[1], 'period', period, 'window', window, 'spenth', whole(h), 'spentl', whole(l), 'heldh', whole(heldh), 'heldl', whole(heldl),
	'run', run, 'told', run)
if keep == 0 then redis.call('PERSIST', KEYS[1]) else redis.call('PEXPIRE', KEYS[1], keep) end
return 1
