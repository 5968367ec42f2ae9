--[[ Acquires a key for a length of time, unless somebody has it.
KEYS  the key, or a prefix with its hash tag
ARGV  key, value `<anything>-<length>`, the length in ms
Returns {'OK'} | {'OTHER'}.
A key that is to live for longer than its own length was set before TIME went back: its time is over.
]]
local key, value = ARGV[1], ARGV[2]
local held = redis.call('GET', key)
local length = held and tonumber(held:match('-(%d+)$'))
if held and not (length and redis.call('PTTL', key) > length) then return { 'OTHER' } end
redis.call('SET', key, value, 'PX', value:match('-(%d+)$'))
return { 'OK' }
