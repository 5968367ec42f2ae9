--[[ Stores newer versions of objects, or versions of another history, and marks their keys dirty. All marks of a call or none.
KEYS  as in lib/keys.lua, but 14 is the stream of events
ARGV  epoch, incarnation of the connection, '1' = in a relist: the stamp follows it, trace, most entries of the stream, name of the
      field of an entry; then of each mark: key, version (20 digits), rest of the snapshot, entry of the stream ('' = none)
Returns {answers, ids of the hints that the caller sends}, nil if another epoch was assumed or state was lost. The answers are one
text, for a client reads it faster than a list; of each mark 0 = not newer, or already ready or held, 1 = ready now.
]]
--- @include "lib/keys"
--- @include "lib/mark_dirty"
--- @include "lib/top_up"
local epoch, incarnation, relist, trace, stream_length, field = unpack(ARGV, 1, 6)
local meta, STREAM = redis.call('HMGET', META, 'epoch', 'run', 'history'), KEYS[14]
local open = meta[2] == incarnation
if meta[1] ~= epoch or not (open or relist == '1') then return false end
local history = (meta[3] or '000000') .. '.'

local function mark(key, version, rest)
  local snapshot = redis.call('HGET', SNAPSHOTS, key)
  if snapshot and snapshot:sub(1, 7) == history and snapshot:sub(1, 27) >= version then return 0 end
  redis.call('HSET', SNAPSHOTS, key, version .. rest)
  if rest:sub(1, 1) == 'G' or redis.call('HEXISTS', HOLDERS, key) == 0 then return mark_dirty(key, trace) end
  -- This may be an echo of the holder's own write: done.lua decides, from the generation since which only marks have come.
  local last_mark = redis.call('HGET', DIRTY, key) or ''
  local only_marks_since = '@' .. (last_mark:match('@(%d+)@') or last_mark) .. '@' .. version
  redis.call('HSET', DIRTY, key, redis.call('HINCRBY', META, 'gen', 1) .. only_marks_since)
  return 0
end

local answers = {}
for i = 7, #ARGV, 4 do
  answers[#answers + 1] = mark(ARGV[i], history .. ARGV[i + 1], ARGV[i + 2])
  local entry = ARGV[i + 3]
  if entry ~= '' then redis.call('XADD', STREAM, 'MAXLEN', '~', stream_length, '*', field, entry) end
end
return {table.concat(answers), top_up(open)}
