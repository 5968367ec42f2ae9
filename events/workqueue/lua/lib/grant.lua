-- Gives a dirty key to one run, under a lease and a new token.
-- A token's number is never reused: it is the time, not a counter that a flush would reset to 0.
--- @include "lib/keys"
--- @include "lib/timer_end"

-- Returns what a run needs: {key, token, generation, snapshot, attempts, pools, trace}.
local function leased(key, token, lease)
  local generation, trace = redis.call('HGET', DIRTY, key), redis.call('HGET', TRACES, key)
  if generation and generation:find('@', 1, true) then
    generation = generation:match('^%d+') -- marks under an earlier holder are no echoes of this holder
    redis.call('HSET', DIRTY, key, generation)
  end
  redis.call('ZADD', TIMER, timer_end(lease), key)
  local snapshot, attempts = redis.call('HGET', SNAPSHOTS, key), redis.call('HGET', ATTEMPTS, key)
  return {key, token, generation, snapshot, attempts, redis.call('HGET', POOLS, key), trace}
end

local function grant(key, lease, nonce)
  local time = redis.call('TIME')
  local last_number = tonumber(redis.call('HGET', META, 'tok') or 0)
  local number = string.format('%.0f', math.max(last_number + 1, time[1] * 1000000 + time[2]))
  local token = number .. '-' .. nonce
  redis.call('HSET', META, 'tok', number)
  redis.call('HSET', HOLDERS, key, token)
  local reply = leased(key, token, lease)
  if reply[7] then redis.call('HDEL', TRACES, key) end
  return reply
end

-- Returns the reply once more if the request with this nonce was granted the key (rule same), nil if not.
local function granted_before(key, lease, nonce)
  local token = redis.call('HGET', HOLDERS, key)
  if token and token:sub(-#nonce - 1) == '-' .. nonce then return leased(key, token, lease) end
  return nil
end
