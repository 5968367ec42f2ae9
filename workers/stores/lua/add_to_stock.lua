-- Puts a listener into a load balancer's stock: its port can be given, unless somebody has it already. Wakes who fits.
-- KEYS[1] prefix of the pool.
-- ARGV server, `lb:port`, listener ARN, target group ARN.
-- Returns {'NOT_READY'} | {'UNKNOWN'} (the pool has no such load balancer) | {'OK', woken names}.
--- @include "lib/keys"
--- @include "lib/stock_keys"
--- @include "lib/verified_under"
--- @include "lib/split_key"
--- @include "lib/use_of"
--- @include "lib/set_bit"
--- @include "lib/change_coming"
--- @include "lib/reindex"
--- @include "lib/wake_waiters"
local server, key, listener, target_group = unpack(ARGV)
if not verified_under(server) then return { 'NOT_READY' } end
local lb, port = split_key(key)
local used, capacity, bits, absent = use_of(lb)
if not absent then return { 'UNKNOWN' } end
call('HSET', STOCK, key, listener .. ' ' .. target_group)
local left, was_absent = {}, false
for _, other in ipairs(cjson.decode(absent)) do
  if other == port + 0 then was_absent = true else left[#left + 1] = other end
end
if not was_absent then return { 'OK', {} } end
bits = set_bit(bits, port - call('HGET', META, 'start'), false)
call('HSET', LBS, 'absent:' .. lb, cjson.encode(left), 'taken:' .. lb, bits)
if not capacity then return { 'OK', {} } end -- it gives no new ports
call('HSET', LBS, 'capacity:' .. lb, capacity + 1)
change_coming(lb, -1)
reindex(lb, used, capacity, used, capacity + 1)
call('HINCRBY', META, 'epoch', 1)
return { 'OK', wake_waiters() }
