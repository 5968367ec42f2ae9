--[[ Ends a run: the key becomes clean, waits, or is ready again because it was marked meanwhile. Gives the drain its next key.
KEYS  as in lib/keys.lua
ARGV  incarnation of the connection, key, token, generation taken, wait (ms, 0 = none), attempts, <history>.<version>
      ('' = none) and rest of the snapshot that the run itself wrote, JSON list of pools ('' = as they are), lease of the
      next key (ms, '' = the drain ends), nonce of this request
Returns {accepted, next, ids}: next as in take_next.lua. A stale token only marks the key dirty: its holder may have written
something.
]]
--- @include "lib/keys"
--- @include "lib/add_pools"
--- @include "lib/enqueue"
--- @include "lib/grant"
--- @include "lib/grant_next"
--- @include "lib/mark_dirty"
--- @include "lib/replies"
--- @include "lib/timer_end"
--- @include "lib/top_up"
local incarnation, key, token, generation, wait, attempts, version, rest, pools, lease, nonce = unpack(ARGV)

local function end_run()
  if redis.call('HGET', HOLDERS, key) ~= token then
    mark_dirty(key)
    return 0
  end
  redis.call('HDEL', HOLDERS, key)
  redis.call('ZREM', TIMER, key)
  if attempts == '0' then redis.call('HDEL', ATTEMPTS, key) else redis.call('HSET', ATTEMPTS, key, attempts) end

  local snapshot = redis.call('HGET', SNAPSHOTS, key)
  -- A snapshot of another history: the API's versions went back since this run began.
  local same_history = snapshot and snapshot:sub(1, 7) == version:sub(1, 7)
  if same_history and snapshot:sub(28, 28) == 'L' and snapshot:sub(1, 27) < version then
    snapshot = version .. rest
    redis.call('HSET', SNAPSHOTS, key, snapshot)
  end

  local last_mark = redis.call('HGET', DIRTY, key) or ''
  local marks_since, marks_until = last_mark:match('@(%d+)@([%d.]+)$')
  -- Since the run began, the key was marked only by echoes of the run's own write.
  local only_echoes = version ~= '' and marks_since == generation and marks_until <= version
  if last_mark ~= generation and not only_echoes then
    add_pools(key, pools) -- a mark meanwhile may have added a pool, so none is dropped
    enqueue(key)
    return 1
  end

  redis.call('HDEL', DIRTY, key)
  if pools == '[]' then redis.call('HDEL', POOLS, key)
  elseif pools ~= '' then redis.call('HSET', POOLS, key, pools) end
  if tonumber(wait) > 0 then
    redis.call('ZADD', TIMER, timer_end(wait), key)
  elseif snapshot and snapshot:match('^[%d.]+(%a)') == 'G' then -- with or without a history
    redis.call('HDEL', SNAPSHOTS, key)
    redis.call('HDEL', ATTEMPTS, key)
  end
  return 1
end

local accepted, granted = recalled(nonce)
accepted = accepted or end_run()
local open = redis.call('HGET', META, 'run') == incarnation
local next = open and 'clean' or 'not_ready'
if open and lease ~= '' then
  next = granted and granted_before(granted, lease, nonce) or grant_next(lease, nonce)
end
remember(nonce, accepted, next)
return {accepted, next, top_up(open, 1)}
