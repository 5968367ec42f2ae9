-- Ends (or shortens) an acquired key, if it is still the caller's own.
-- KEYS[1] the key, or a prefix with its hash tag.
-- ARGV key, value that it was acquired with, milliseconds that the key shall still live (none: delete it).
-- Returns {'OK'} | {'OTHER'}.
--- @include "lib/holder_of"
local key, value, left = unpack(ARGV)
if holder_of(redis.call('GET', key)) ~= holder_of(value) then return { 'OTHER' } end
if left then redis.call('SET', key, '-' .. left, 'PX', left) else redis.call('DEL', key) end -- nobody's: it only keeps others away
return { 'OK' }
