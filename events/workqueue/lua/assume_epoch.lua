--[[ Makes a publisher's epoch the one whose marks count. A Redis of no fleet becomes the publisher's fleet's.
KEYS  as in lib/keys.lua
ARGV  epoch "<number>:<identity>", incarnation of the connection, cluster ('' = no fleet is named), UID of its kube-system or '',
      version of the state, which a Redis without an epoch gets: whatever its ledgers have is of that version
Returns the incarnation under which the epoch was assumed, nil if a higher number was assumed before, {cluster, UID} of another
fleet that this Redis belongs to.
An equal number with another identity wins: the Lease was deleted by hand, and its present holder is the caller.
Under another incarnation than the stamp's the queue is closed, also for workers that have not noticed the change.
]]
--- @include "lib/keys"
local epoch, incarnation, cluster, system, version = unpack(ARGV)
local meta = redis.call('HMGET', META, 'epoch', 'run', 'cluster', 'system')
local last_epoch, stamped, owner, owner_system = meta[1], meta[2], meta[3], meta[4] or ''
local systems_differ = system ~= '' and owner_system ~= '' and system ~= owner_system
if cluster ~= '' and owner and (owner ~= cluster or systems_differ) then return {owner, owner_system} end
if last_epoch and tonumber(last_epoch:match('^%d+')) > tonumber(epoch:match('^%d+')) then return false end
if stamped ~= incarnation then redis.call('HDEL', META, 'run') end
redis.call('HSET', META, 'epoch', epoch)
if not last_epoch then redis.call('HSET', META, 'version', version) end
if cluster ~= '' then redis.call('HSET', META, 'cluster', cluster) end
if cluster ~= '' and system ~= '' then redis.call('HSET', META, 'system', system) end
return incarnation
