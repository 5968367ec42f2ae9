--[[ Stores a newer version of an object, or one of another history, and marks its key dirty.
KEYS  as in lib/keys.lua
ARGV  epoch, incarnation of the connection ('' in a relist: the stamp follows it), key, version (20 digits),
      rest of the snapshot, hint
Returns -1 = another epoch was assumed or state was lost, 0 = not newer, or already queued or held, 1 = queued.
]]
--- @include "lib/keys"
--- @include "lib/mark_dirty"
local epoch, incarnation, key, version, rest, hint = unpack(ARGV)
local meta = redis.call('HMGET', META, 'epoch', 'run', 'history')
if meta[1] ~= epoch or (incarnation ~= '' and meta[2] ~= incarnation) then return -1 end
local snapshot, history = redis.call('HGET', SNAPSHOTS, key), (meta[3] or '000000') .. '.'
version = history .. version
if snapshot and snapshot:sub(1, 7) == history and snapshot:sub(1, 27) >= version then return 0 end
redis.call('HSET', SNAPSHOTS, key, version .. rest)
if rest:sub(1, 1) == 'G' or redis.call('HEXISTS', HOLDERS, key) == 0 then return mark_dirty(key, hint) end
-- This may be an echo of the holder's own write: done.lua decides, from the generation since which only marks have come.
local last_mark = redis.call('HGET', DIRTY, key) or ''
local only_marks_since = '@' .. (last_mark:match('@(%d+)@') or last_mark) .. '@' .. version
redis.call('HSET', DIRTY, key, redis.call('HINCRBY', META, 'gen', 1) .. only_marks_since)
return 0
