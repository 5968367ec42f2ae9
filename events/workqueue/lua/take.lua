--[[ Gives a dirty key to one worker, under a lease and a new token.
KEYS  as in head.lua
ARGV  incarnation of the connection, key, lease (ms), nonce
Returns {token, generation, snapshot, tries, pools}, or why not: not_ready, held, clean.
The token's number never comes back: it is the time, not a counter that a flush would set to 0 again.
]]
local run, k, lease, nonce = unpack(ARGV)
local m = redis.call('HMGET', meta, 'run', 'tok')
if m[1] ~= run then return 'not_ready' end
local gen = redis.call('HGET', dirty, k)
local hinted = redis.call('ZREM', queued, k)
if hinted == 0 and gen and tonumber(redis.call('ZSCORE', timer, k) or 0) > now() then return 'held' end
if not gen then return 'clean' end
local t = redis.call('TIME')
if gen:find('@', 1, true) then
  gen = gen:match('^%d+') -- marks under an earlier holder are news to this one
  redis.call('HSET', dirty, k, gen)
end
local number = string.format('%.0f', math.max(tonumber(m[2] or 0) + 1, t[1] * 1000000 + t[2]))
local token = number .. '-' .. nonce
redis.call('HSET', meta, 'tok', number)
redis.call('HSET', hold, k, token)
redis.call('ZADD', timer, after(lease), k)
return {token, gen, redis.call('HGET', snap, k), redis.call('HGET', tries, k), redis.call('HGET', pools, k)}
