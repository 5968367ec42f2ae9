-- Takes a listener that AWS does not have any more out of a load balancer's stock, so that it is made again.
-- KEYS[1] prefix of the pool.
-- ARGV server, `lb:port`, listener ARN.
-- Returns {'NOT_READY'} | {'CHANGED'} (it is not in stock) | {'OK'}.
--- @include "lib/keys"
--- @include "lib/stock_keys"
--- @include "lib/verified_under"
--- @include "lib/compare_targets"
--- @include "lib/split_key"
--- @include "lib/use_of"
--- @include "lib/get_bit"
--- @include "lib/set_bit"
--- @include "lib/add_absent"
--- @include "lib/reindex"
local server, key, listener = unpack(ARGV)
if not verified_under(server) then return { 'NOT_READY' } end
local row = call('HGET', STOCK, key)
if not row or row:match('^%S+') ~= listener then return { 'CHANGED' } end
call('HDEL', STOCK, key)
compare_targets(key) -- its target group may still be there, and be adopted
local lb, port = split_key(key)
local used, capacity, bits, absent = use_of(lb)
local offset = port - call('HGET', META, 'start')
if not absent or get_bit(bits, offset) then return { 'OK' } end -- held: its owner makes it again
call('HSET', LBS, 'taken:' .. lb, set_bit(bits, offset, true))
add_absent(lb, absent, port)
reindex(lb, used, capacity, used, capacity and capacity - 1)
return { 'OK' }
