-- Keeps the latest decision about the size of a pool, and points of its history: each change, and otherwise one a period.
-- KEYS[1] prefix of the pool.
-- ARGV server, decision (JSON), point (JSON), '1' = the decision changes the size, period (ms), most points.
-- Returns {'OK'}.
--- @include "lib/keys"
--- @include "lib/now_ms"
local _, decision, point, changes, period, most = unpack(ARGV)
redis.call('SET', PREFIX .. 'decision', decision)
local last = redis.call('XREVRANGE', SIZES, '+', '-', 'COUNT', 1)[1]
local age = last and now_ms() - tonumber(last[1]:match('^%d+'))
if changes == '1' or not age or age >= tonumber(period) then
  redis.call('XADD', SIZES, 'MAXLEN', most, '*', 'point', point)
end
return { 'OK' }
