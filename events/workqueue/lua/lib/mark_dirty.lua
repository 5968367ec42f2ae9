-- Marks a key dirty. Returns 1 if the key is queued now, 0 if it was held or queued: its run reads the new generation.
--- @include "lib/keys"
--- @include "lib/enqueue"
local function mark_dirty(key, hint)
  redis.call('HSET', DIRTY, key, redis.call('HINCRBY', META, 'gen', 1))
  if redis.call('HEXISTS', HOLDERS, key) == 1 or redis.call('ZSCORE', QUEUED, key) then return 0 end
  redis.call('ZREM', TIMER, key)
  enqueue(key, hint)
  return 1
end
