--[[ Forgets hints that no drain has begun, and sends others: a hint may be lost (rule forget).
KEYS  as in lib/keys.lua
ARGV  incarnation of the connection, ms after which an unbegun hint counts as lost
Returns {number of forgotten hints, ids of the hints that the caller sends}.
A hint with a future time was sent before TIME went back.
]]
--- @include "lib/keys"
--- @include "lib/now_ms"
--- @include "lib/top_up"
local incarnation, after = unpack(ARGV)
local now = now_ms()
local forgotten = redis.call('ZREMRANGEBYSCORE', SENT, '-inf', now - after)
forgotten = forgotten + redis.call('ZREMRANGEBYSCORE', SENT, '(' .. now, '+inf')
return {forgotten, top_up(redis.call('HGET', META, 'run') == incarnation)}
