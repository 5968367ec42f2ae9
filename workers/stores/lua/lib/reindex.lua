-- Keeps sums and indexes when `used` of `capacity` ports of a load balancer have become `used_now` of `capacity_now`.
--- @include "lib/keys"
--- @include "lib/noted_ms"
local function reindex(lb, used, capacity, used_now, capacity_now)
  if used_now == 0 and (used > 0 or call('HEXISTS', LBS, 'empty:' .. lb) == 0) then
    call('HSET', LBS, 'empty:' .. lb, string.format('%.0f', noted_ms()))
  end
  local before, after = math.max(0, (capacity or 0) - used), math.max(0, (capacity_now or 0) - used_now)
  if before ~= after then call('HINCRBY', META, 'free', after - before) end
  if before < after then call('HINCRBY', META, 'freed', 1) end -- who did not fit may fit now
  if after > 0 then
    call('ZADD', ROOM, used_now, lb)
    if before == 0 then call('ZADD', ORDER, cjson.decode(call('HGET', LBS, 'facts:' .. lb)).position, lb) end
  elseif before > 0 then
    call('ZREM', ROOM, lb)
    call('ZREM', ORDER, lb)
  end
end
