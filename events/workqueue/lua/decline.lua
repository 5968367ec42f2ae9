--[[ Takes off the id of a hint whose worker was asked to end before it began the drain, and sends another (rule decline).
KEYS  as in lib/keys.lua
ARGV  incarnation of the connection, id of the hint
Returns the ids of the hints that the caller sends.
]]
--- @include "lib/keys"
--- @include "lib/top_up"
local incarnation, id = unpack(ARGV)
redis.call('ZREM', SENT, id)
return top_up(redis.call('HGET', META, 'run') == incarnation)
