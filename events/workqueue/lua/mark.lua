--[[ Stores a newer version of an object and marks its key dirty.
KEYS  as in head.lua
ARGV  epoch, incarnation of the connection ('' in a relist: the stamp follows it), key, version (20 digits),
      rest of the snapshot, hint
Returns -1 = another epoch claimed or state was lost, 0 = not newer or already in somebody's hand, 1 = queued.
]]
local epoch, run, k, version, rest, message = unpack(ARGV)
local m = redis.call('HMGET', meta, 'epoch', 'run')
if m[1] ~= epoch or (run ~= '' and m[2] ~= run) then return -1 end
local old = redis.call('HGET', snap, k)
if old and old:sub(1, 20) >= version then return 0 end
redis.call('HSET', snap, k, version .. rest)
return touch(k, message)
