-- Ends a hold at all its levels: the same keys as for taking. What was used takes the place of what was taken.
local BASE, MOST, FURTHEST = 1000000000, 9223372036, 4503599627370496
local PER_LEVEL = 21

local function norm(h, l)
	local carry = math.floor(l / BASE)
	h, l = h + carry, l - carry * BASE
	if h < 0 then return 0, 0 end
	if h >= MOST then return MOST, 0 end
	return h, l
end

local function whole(x) return string.format('%.0f', x) end

local nowh, nowl, unsure, expired = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3] == '1', ARGV[4] == '1'
local usedh, usedl = tonumber(ARGV[5]), tonumber(ARGV[6])

-- rate corrects one rate by so many ns that were used beyond the hold, or that were not used.
local function rate(key, r, at)
	local limit, more, less = tonumber(ARGV[at]), tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2])
	local f = redis.call('HMGET', key, 'f' .. r, 'g' .. r, 'l' .. r)
	if limit == 0 or more + less == 0 or not f[3] then return end
	local left = math.min(math.max((f[1] - nowh) * BASE + (f[2] - nowl), 0), FURTHEST)
	local h, l
	if tonumber(f[3]) ~= limit then
		more, less = math.floor(more * limit / f[3]), math.floor(less * limit / f[3])
	else
		local since = (tonumber(ARGV[at + 3]) - nowh) * BASE + (tonumber(ARGV[at + 4]) - nowl)
		less = math.min(less, math.max(since, 0))
	end
	if more > 0 then h, l = norm(nowh, nowl + math.min(left + more, FURTHEST))
	else h, l = norm(tonumber(f[1]), tonumber(f[2]) - math.min(less, left)) end
	redis.call('HSET', key, 'f' .. r, whole(h), 'g' .. r, whole(l))
end

local function money(key, lease, found)
	local h, l, period, window = string.match(lease, '^%x+ (%d+) (%d+) (%S+):(%S+)$')
	local f = redis.call('HMGET', key, 'period', 'window', 'spenth', 'spentl', 'heldh', 'heldl')
	if f[1] ~= period or f[2] ~= window then return end
	local spenth, spentl, heldh, heldl = f[3] + usedh, f[4] + usedl, tonumber(f[5]), tonumber(f[6])
	if found then heldh, heldl = norm(heldh - h, heldl - l)
	elseif expired then spenth, spentl = spenth - h, spentl - l end -- it was counted as spent
	spenth, spentl = norm(spenth, spentl)
	redis.call('HSET', key, 'spenth', whole(spenth), 'spentl', whole(spentl), 'heldh', whole(heldh), 'heldl', whole(heldl))
end

for i = 1, #KEYS / 2 do
	local key, at = KEYS[2 * i - 1], 6 + (i - 1) * PER_LEVEL
	local lease = ARGV[at + 1]
	local found = redis.call('ZREM', KEYS[2 * i], lease) == 1
	if found or not unsure then
		for r = 0, 3 do rate(key, r, at + 2 + 5 * r) end
		money(key, lease, found)
	end
end
return 1
