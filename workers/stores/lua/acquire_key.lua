--[[ Acquires a key for a length of time, unless somebody has it.
KEYS  the key, or a prefix with its hash tag
ARGV  key, value `<anything>-<length>`, the length in ms
Returns {'OK'} | {'OTHER'}.
A key that is to live for longer than its own length was set before TIME went back: its time is over.
]]
local key, value = unpack(ARGV)
local length = value:match('-(%d+)$')
if redis.call('SET', key, value, 'NX', 'PX', length) then return { 'OK' } end
local other_length = tonumber(redis.call('GET', key):match('-(%d+)$'))
if not other_length or redis.call('PTTL', key) <= other_length then return { 'OTHER' } end
redis.call('SET', key, value, 'PX', length)
return { 'OK' }
