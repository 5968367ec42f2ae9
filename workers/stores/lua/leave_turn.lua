-- Ends a turn, if it is still the caller's own.
-- KEYS[1] the turn's key.
-- ARGV token.
-- Returns 1 = it was, 0 = it had ended.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
