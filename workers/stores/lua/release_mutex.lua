-- Releases the mutex of a load balancer, if it is still the caller's own.
-- KEYS[1] the mutex's key.
-- ARGV token.
-- Returns 1 = it was, 0 = it had ended.
local key, token = KEYS[1], ARGV[1]
if redis.call('GET', key) ~= token then return 0 end
return redis.call('DEL', key)
