-- Releases a mutex, if the caller still holds it.
-- KEYS[1] the key of the mutex.
-- ARGV token.
-- Returns 1 = it was, 0 = it had ended.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
