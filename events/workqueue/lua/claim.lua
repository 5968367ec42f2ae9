--[[ Makes a publisher's epoch the one whose marks count.
KEYS  as in head.lua
ARGV  epoch "<number>:<identity>", incarnation of the connection
Returns the incarnation that the claim was made under, nil if a higher number has claimed.
An equal number with another identity wins: the Lease was deleted by hand, and its holder of now is asking.
]]
local epoch, run = ARGV[1], ARGV[2]
local old = redis.call('HGET', meta, 'epoch')
if old and tonumber(old:match('^%d+')) > tonumber(epoch:match('^%d+')) then return false end
redis.call('HSET', meta, 'epoch', epoch)
return run
