-- Puts a listener into a load balancer's stock: its port can be given, unless somebody has it already. Wakes who fits.
-- KEYS[1] prefix of the pool.
-- ARGV server, `lb:port`, listener ARN, target group ARN.
-- Returns {'NOT_READY'} | {'UNKNOWN'} (the pool has no such load balancer) | {'OK', woken names}.
local server, key, listener, group = unpack(ARGV)
if not ready(server) then return { 'NOT_READY' } end
local lb, port = port_of(key)
local used, most, bits, absent = use_of(lb)
if not absent then return { 'UNKNOWN' } end
call('HSET', STOCK, key, listener .. ' ' .. group)
local left, there = {}, false
for _, other in ipairs(cjson.decode(absent)) do
  if other == port + 0 then there = true else left[#left + 1] = other end
end
if not there then return { 'OK', {} } end
bits = bit_set(bits, port - call('HGET', META, 'start'), false)
call('HSET', LBS, 'a:' .. lb, cjson.encode(left), 'b:' .. lb, bits)
if not most then return { 'OK', {} } end -- it gives no new ports
call('HSET', LBS, 'c:' .. lb, most + 1)
coming(lb, -1)
reindex(lb, used, most, used, most + 1)
call('HINCRBY', META, 'epoch', 1)
return { 'OK', wake() }
