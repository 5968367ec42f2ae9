-- Marks a key dirty. Returns 1 if the key is ready now, 0 if it was held or ready: its run reads the new generation.
--- @include "lib/keys"
--- @include "lib/enqueue"
local function mark_dirty(key, trace, slow)
  redis.call('HSET', DIRTY, key, redis.call('HINCRBY', META, 'gen', 1))
  if trace and trace ~= '' then redis.call('HSETNX', TRACES, key, trace) end
  if redis.call('HEXISTS', HOLDERS, key) == 1 or not enqueue(key, slow) then return 0 end
  redis.call('ZREM', TIMER, key)
  return 1
end
