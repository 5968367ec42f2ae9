-- Ends (or shortens) the key of a scale-up request, if it is still the caller's own.
-- KEYS[1] prefix of the pool.
-- ARGV key, token, milliseconds that the key shall still live (none: delete it).
-- Returns {'OK'} | {'OTHER'}.
local key, token, left = unpack(ARGV)
if redis.call('GET', key) ~= token then return { 'OTHER' } end
if left then redis.call('SET', key, '-' .. left, 'PX', left) else redis.call('DEL', key) end -- nobody's: it only keeps others away
return { 'OK' }
