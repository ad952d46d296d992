-- Says what was spent in a period before it was counted here, where nothing is known of the period.
local period, window, keep = ARGV[1], ARGV[2], tonumber(ARGV[5])
if redis.call('HGET', KEYS[1], 'period') == period then return 0 end
redis.call('HSET', KEYS[1], 'period', period, 'window', window, 'spenth', ARGV[3], 'spentl', ARGV[4], 'heldh', 0, 'heldl', 0)
if keep == 0 then redis.call('PERSIST', KEYS[1]) else redis.call('PEXPIRE', KEYS[1], keep) end
return 1
