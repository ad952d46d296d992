-- Reserves at all levels or at none. Two keys for each level: its state, a hash, and its leases, a sorted set by the
-- moment in ms at which a lease ends. Numbers that may pass 2^53 come and go in two halves, base 10^9, so that a double
-- holds them exactly. The answer: 1 where it was taken, then eleven numbers for each level, as they stood before; a 2 alone
-- where a level is of another run of the server and nothing was done.
local BASE, MOST, MINUTE, FURTHEST = 1000000000, 9223372036, 60000000000, 4503599627370496
local PER_LEVEL = 19

local function norm(h, l)
	local carry = math.floor(l / BASE)
	h, l = h + carry, l - carry * BASE
	if h < 0 then return 0, 0 end
	if h >= MOST then return MOST, 0 end
	return h, l
end

local function whole(x) return string.format('%.0f', x) end

local nowh, nowl, nowms, ends, id = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3], ARGV[4], ARGV[5]
local needh, needl, run = tonumber(ARGV[6]), tonumber(ARGV[7]), ARGV[8]
local costs = needh > 0 or needl > 0

-- The money of leases that nobody renewed counts as spent: what their gateways asked for may have been charged.
local function expire(leases, s)
	for _, m in ipairs(redis.call('ZRANGEBYSCORE', leases, '-inf', nowms, 'LIMIT', 0, 1000)) do
		redis.call('ZREM', leases, m)
		local h, l, w = string.match(m, '^%x+ (%d+) (%d+) (%S+)$')
		if s.known and w == s.period .. ':' .. whole(s.window) then
			s.heldh, s.heldl = norm(s.heldh - h, s.heldl - l)
			s.spenth, s.spentl = norm(s.spenth + h, s.spentl + l)
		end
	end
end

local function load(i)
	local key, leases, at = KEYS[2 * i - 1], KEYS[2 * i], 8 + (i - 1) * PER_LEVEL
	local f = redis.call('HMGET', key, 'f0', 'g0', 'l0', 'f1', 'g1', 'l1', 'f2', 'g2', 'l2', 'f3', 'g3', 'l3',
		'period', 'window', 'spenth', 'spentl', 'heldh', 'heldl', 'run', 'told')
	if f[19] ~= run and redis.call('EXISTS', key) == 1 then return nil end
	local s = {key = key, leases = leases, ahead = {}, limit = {}, span = {}, over = {}}
	for r = 0, 3 do
		local limit, old = tonumber(ARGV[at + 3 * r + 1]), tonumber(f[3 * r + 3] or 0)
		local ahead = 0
		if limit > 0 and old > 0 then
			ahead = math.min(math.max((f[3 * r + 1] - nowh) * BASE + (f[3 * r + 2] - nowl), 0), FURTHEST)
			if old ~= limit then ahead = math.min(math.floor(ahead * old / limit), FURTHEST) end
		end
		s.limit[r], s.ahead[r] = limit, ahead
		s.span[r], s.over[r] = tonumber(ARGV[at + 3 * r + 2]), ARGV[at + 3 * r + 3] == '1'
	end
	s.atonce, s.budget = tonumber(ARGV[at + 13]), ARGV[at + 14] == '1'
	s.mosth, s.mostl = tonumber(ARGV[at + 15]), tonumber(ARGV[at + 16])
	local period, window = ARGV[at + 17], tonumber(ARGV[at + 18])
	s.keep = tonumber(ARGV[at + 19])
	s.known = f[13] == period and f[20] == run
	s.period, s.window = period, window
	s.spenth, s.spentl, s.heldh, s.heldl = 0, 0, 0, 0
	if s.known and tonumber(f[14]) >= window then
		s.window = tonumber(f[14])
		s.spenth, s.spentl, s.heldh, s.heldl = tonumber(f[15]), tonumber(f[16]), tonumber(f[17]), tonumber(f[18])
	end
	expire(leases, s)
	s.running = redis.call('ZCARD', leases)
	return s
end

local function allows(s)
	for r = 0, 3 do
		if s.limit[r] > 0 and s.span[r] > 0 and (s.over[r] or s.ahead[r] + s.span[r] > MINUTE) then return false end
	end
	if s.atonce > 0 and s.running >= s.atonce then return false end
	if not s.budget then return true end
	if not s.known then return false end
	local h, l = norm(s.spenth + s.heldh, s.spentl + s.heldl)
	h, l = norm(h + needh, l + needl)
	return not costs or h < s.mosth or h == s.mosth and l <= s.mostl
end

local function save(s, take)
	local f, longest = {}, 0
	for r = 0, 3 do
		if take and s.limit[r] > 0 then
			local ahead = math.min(s.ahead[r] + s.span[r], FURTHEST)
			local h, l = norm(nowh, nowl + ahead)
			longest = math.max(longest, ahead)
			for _, v in ipairs({'f' .. r, whole(h), 'g' .. r, whole(l), 'l' .. r, whole(s.limit[r])}) do f[#f + 1] = v end
		end
	end
	local heldh, heldl = s.heldh, s.heldl
	if take and s.budget then heldh, heldl = norm(heldh + needh, heldl + needl) end
	if s.known then
		for _, v in ipairs({'window', whole(s.window), 'spenth', whole(s.spenth), 'spentl', whole(s.spentl), 'heldh', whole(heldh), 'heldl', whole(heldl)}) do f[#f + 1] = v end
	end
	if #f > 0 then
		f[#f + 1], f[#f + 2] = 'run', run
		redis.call('HSET', s.key, unpack(f))
		if s.keep == 0 then redis.call('PERSIST', s.key)
		else redis.call('PEXPIRE', s.key, whole(s.keep + math.floor(longest / 1000000))) end
	end
	if take then
		local h, l = 0, 0
		if s.budget then h, l = needh, needl end
		redis.call('ZADD', s.leases, ends, id .. ' ' .. whole(h) .. ' ' .. whole(l) .. ' ' .. s.period .. ':' .. whole(s.window))
		redis.call('PEXPIREAT', s.leases, whole(ends + 3600000))
	end
end

local all, ok, out = {}, true, {0}
for i = 1, #KEYS / 2 do
	local s = load(i)
	if not s then return {2} end
	all[i], ok = s, allows(s) and ok
	for r = 0, 3 do out[#out + 1] = s.ahead[r] end
	for _, v in ipairs({s.running, s.known and 1 or 0, s.window, s.spenth, s.spentl, s.heldh, s.heldl}) do out[#out + 1] = v end
end
for i = 1, #all do save(all[i], ok) end
if ok then out[1] = 1 end
return out
