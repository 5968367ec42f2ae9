--[[ Acquires a key for a length of time, or keeps it for that, unless somebody else has it.
KEYS  the key, or a prefix with its hash tag
ARGV  key, value `<token>-<length>`, the length in ms
Returns {'OK'} | {'OTHER'}.
A key that is to live for longer than its own length was set before TIME went back: its time is over.
]]
--- @include "lib/holder_of"
local key, value = unpack(ARGV)
local length = value:match('-(%d+)$')
if redis.call('SET', key, value, 'NX', 'PX', length) then return { 'OK' } end
local other = redis.call('GET', key)
local other_length = tonumber(other:match('-(%d+)$'))
local lasts = not other_length or redis.call('PTTL', key) <= other_length
if lasts and holder_of(other) ~= holder_of(value) then return { 'OTHER' } end
redis.call('SET', key, value, 'PX', length)
return { 'OK' }
