-- Sends hints until as many are unbegun as keys are ready, at most AHEAD. Every script that makes a key ready, or takes
-- a hint off, ends with it (rule cover). A closed queue sends nothing (rule silent).
-- Returns the ids that the caller sends, none if the broker's list is in this Redis.
--- @include "lib/keys"
--- @include "lib/classes"
local LIMITS = {} --- @table "limits"
local HINT = {} --- @table "hint"

local function top_up(open, most)
  local ids, unbegun = {}, redis.call('ZCARD', SENT)
  if not open or unbegun >= LIMITS.ahead then return ids end
  local ready = 0
  for class = 1, SLOW do ready = ready + redis.call('ZCARD', ready_queue(class)) end
  for _ = 1, math.min(LIMITS.ahead - unbegun, ready - unbegun, most or LIMITS.ahead) do
    local time = redis.call('TIME')
    local id = string.format('%.0f-%d', time[1] * 1000000 + time[2], redis.call('HINCRBY', META, 'hints', 1))
    redis.call('ZADD', SENT, time[1] * 1000 + math.floor(time[2] / 1000), id)
    if HINTS then redis.call('LPUSH', HINTS, table.concat(HINT, id)) else ids[#ids + 1] = id end
  end
  return ids
end
