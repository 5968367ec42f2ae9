--[[ Stores a newer version of an object, or one of another history, and marks its key dirty.
KEYS  as in head.lua
ARGV  epoch, incarnation of the connection ('' in a relist: the stamp follows it), key, version (20 digits),
      rest of the snapshot, hint
Returns -1 = another epoch claimed or state was lost, 0 = not newer or already in somebody's hand, 1 = queued.
]]
local epoch, run, k, version, rest, message = unpack(ARGV)
local m = redis.call('HMGET', meta, 'epoch', 'run', 'history')
if m[1] ~= epoch or (run ~= '' and m[2] ~= run) then return -1 end
local old, history = redis.call('HGET', snap, k), (m[3] or '000000') .. '.'
version = history .. version
if old and old:sub(1, 7) == history and old:sub(1, 27) >= version then return 0 end
redis.call('HSET', snap, k, version .. rest)
if rest:sub(1, 1) == 'G' or redis.call('HEXISTS', hold, k) == 0 then return touch(k, message) end
-- It may be what the holder wrote itself: done.lua can tell, if it knows how far back there are only marks.
local before = redis.call('HGET', dirty, k) or ''
local row = '@' .. (before:match('@(%d+)@') or before) .. '@' .. version
redis.call('HSET', dirty, k, redis.call('HINCRBY', meta, 'gen', 1) .. row)
return 0
