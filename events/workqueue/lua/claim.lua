--[[ Makes a publisher's epoch the one whose marks count, and the Redis its fleet's if it is nobody's.
KEYS  as in head.lua
ARGV  epoch "<number>:<identity>", incarnation of the connection, cluster ('' = no fleet is named), UID of its kube-system or ''
Returns the incarnation that the claim was made under, nil if a higher number has claimed, {cluster, UID} of another fleet
that this Redis belongs to.
An equal number with another identity wins: the Lease was deleted by hand, and its holder of now is asking.
Under another incarnation than the stamp's the queue is closed, also to who has not noticed the change yet.
]]
local epoch, run, cluster, system = unpack(ARGV)
local m = redis.call('HMGET', meta, 'epoch', 'run', 'cluster', 'system')
local old, owner, theirs = m[1], m[3], m[4] or ''
local differ = system ~= '' and theirs ~= '' and system ~= theirs
if cluster ~= '' and owner and (owner ~= cluster or differ) then return {owner, theirs} end
if old and tonumber(old:match('^%d+')) > tonumber(epoch:match('^%d+')) then return false end
if m[2] ~= run then redis.call('HDEL', meta, 'run') end
redis.call('HSET', meta, 'epoch', epoch)
if cluster ~= '' then redis.call('HSET', meta, 'cluster', cluster) end
if cluster ~= '' and system ~= '' then redis.call('HSET', meta, 'system', system) end
return run
