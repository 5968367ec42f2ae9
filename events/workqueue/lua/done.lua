--[[ Ends a run: the key becomes clean, waits, or is queued again because of news that came meanwhile.
KEYS  as in head.lua
ARGV  key, token, generation taken, wait (ms, 0 = none), tries, <history>.<version> ('' = none) and rest of the
      snapshot that the run itself wrote, JSON list of pools ('' = as they are), hint
Returns {accepted, queued}. A stale token changes nothing but marks the key: what its holder did may need a look.
]]
local k, token, gen, wait, attempts, version, rest, list, message = unpack(ARGV)
if redis.call('HGET', hold, k) ~= token then return {0, touch(k, message)} end
redis.call('HDEL', hold, k)
redis.call('ZREM', timer, k)
if attempts == '0' then redis.call('HDEL', tries, k) else redis.call('HSET', tries, k, attempts) end
local old = redis.call('HGET', snap, k)
local same = old and old:sub(1, 7) == version:sub(1, 7) -- else the API's versions went back since this run began
if same and old:sub(28, 28) == 'L' and old:sub(1, 27) < version then
  old = version .. rest
  redis.call('HSET', snap, k, old)
end
local marked = redis.call('HGET', dirty, k) or ''
local since, upto = marked:match('@(%d+)@([%d.]+)$')
local echoes = version ~= '' and since == gen and upto <= version -- of what the run wrote: nothing else has come
if marked ~= gen and not echoes then
  add_pools(k, list) -- none is forgotten: who marked the key meanwhile may have added one
  enqueue(k, message)
  return {1, 1}
end
redis.call('HDEL', dirty, k)
remember_pools(k, list)
if tonumber(wait) > 0 then
  redis.call('ZADD', timer, after(wait), k)
elseif old and old:match('^[%d.]+(%a)') == 'G' then -- with or without a history
  redis.call('HDEL', snap, k)
  redis.call('HDEL', tries, k)
end
return {1, 0}
