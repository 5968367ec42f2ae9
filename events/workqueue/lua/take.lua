--[[ Gives a dirty key to one worker, under a lease and a new token.
KEYS  as in lib/keys.lua
ARGV  incarnation of the connection, key, lease (ms), nonce
Returns {token, generation, snapshot, attempts, pools}, or the reason of a refusal: not_ready, held, clean.
A token's number is never reused: it is the time, not a counter that a flush would reset to 0.
]]
--- @include "lib/keys"
--- @include "lib/now_ms"
--- @include "lib/timer_end"
local incarnation, key, lease, nonce = unpack(ARGV)
local meta = redis.call('HMGET', META, 'run', 'tok')
local stamped, last_number = meta[1], tonumber(meta[2] or 0)
if stamped ~= incarnation then return 'not_ready' end
local generation = redis.call('HGET', DIRTY, key)
local hinted = redis.call('ZREM', QUEUED, key)
if hinted == 0 and generation and tonumber(redis.call('ZSCORE', TIMER, key) or 0) > now_ms() then return 'held' end
if not generation then return 'clean' end
if generation:find('@', 1, true) then
  generation = generation:match('^%d+') -- marks under an earlier holder are no echoes of this holder
  redis.call('HSET', DIRTY, key, generation)
end
local time = redis.call('TIME')
local number = string.format('%.0f', math.max(last_number + 1, time[1] * 1000000 + time[2]))
local token = number .. '-' .. nonce
redis.call('HSET', META, 'tok', number)
redis.call('HSET', HOLDERS, key, token)
redis.call('ZADD', TIMER, timer_end(lease), key)
local snapshot, attempts = redis.call('HGET', SNAPSHOTS, key), redis.call('HGET', ATTEMPTS, key)
return {token, generation, snapshot, attempts, redis.call('HGET', POOLS, key)}
