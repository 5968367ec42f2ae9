--[[ Takes one token of a bucket that fills with time, or a place in its line.

KEYS  bucket hash {level, at (ms), seq, spare:<priority> (ms)}; line zset caller by (priority, arrival);
      due zset caller by promised time (ms)
ARGV  caller, priority (0 first), tokens a second, burst, tokens left for the more urgent, ms between two calls that a
      priority is owed whatever waits before it (0 = none), ms that a promise is kept
Returns -1 = go, else the ms after which the token is there.
]]
local bucket, line, due = unpack(KEYS)
local caller, priority = ARGV[1], tonumber(ARGV[2])
local rate, burst, left = ARGV[3] / 1000, tonumber(ARGV[4]), tonumber(ARGV[5])
local owed, kept = tonumber(ARGV[6]), tonumber(ARGV[7])
local band, spare = priority * 1e12, 'spare:' .. ARGV[2]

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local stored = redis.call('HMGET', bucket, 'level', 'at', 'seq', spare)
local level, at, seq = tonumber(stored[1]) or burst, tonumber(stored[2]) or now, tonumber(stored[3]) or 0
local owed_at = math.min(tonumber(stored[4]) or now + owed, now + owed)
if now < at then redis.call('DEL', line, due) end -- another server's clock: its promises mean nothing here
level = math.min(burst, level + math.max(0, now - at) * rate)

for _, late in ipairs(redis.call('ZRANGE', due, '-inf', now - kept, 'BYSCORE', 'LIMIT', 0, 1000)) do
  redis.call('ZREM', line, late)
  redis.call('ZREM', due, late)
end

local place = tonumber(redis.call('ZSCORE', line, caller) or -1)
if place < band or place >= band + 1e12 then
  seq = seq + 1
  place = band + seq
end
local ahead = redis.call('ZCOUNT', line, '-inf', '(' .. string.format('%.0f', place))
local peers = redis.call('ZCOUNT', line, string.format('%.0f', band), '(' .. string.format('%.0f', place))

local wait = (ahead + 1 + left - level) / rate
if owed > 0 then
  wait = math.min(wait, math.max((1 - level) / rate, owed_at - now + peers * owed))
end
if wait < 0.001 then -- sums of fractions are not exact: who comes when told must not miss by a rounding
  level, owed_at, wait = level - 1, now + owed, -1
  redis.call('ZREM', line, caller)
  redis.call('ZREM', due, caller)
else
  wait = math.ceil(wait)
  redis.call('ZADD', line, string.format('%.0f', place), caller)
  redis.call('ZADD', due, now + wait, caller)
end
redis.call('HSET', bucket, 'level', level, 'at', now, 'seq', seq, spare, owed_at)
for _, key in ipairs(KEYS) do redis.call('PEXPIRE', key, math.ceil(burst / rate + kept + math.max(wait, 0))) end
return wait
