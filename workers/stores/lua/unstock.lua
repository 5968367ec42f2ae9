-- Takes a listener that AWS does not have any more out of a load balancer's stock, so that it is made again.
-- KEYS[1] prefix of the pool.
-- ARGV server, `lb:port`, listener ARN.
-- Returns {'NOT_READY'} | {'CHANGED'} (it is not in stock) | {'OK'}.
local server, key, listener = unpack(ARGV)
if not ready(server) then return { 'NOT_READY' } end
local row = call('HGET', STOCK, key)
if not row or row:match('^%S+') ~= listener then return { 'CHANGED' } end
call('HDEL', STOCK, key)
wish(key) -- its target group may still be there, and be adopted
local lb, port = port_of(key)
local used, most, bits, absent = use_of(lb)
local off = port - call('HGET', META, 'start')
if not absent or bit_get(bits, off) then return { 'OK' } end -- held: its owner makes it again
call('HSET', LBS, 'b:' .. lb, bit_set(bits, off, true))
lacks(lb, absent, port)
reindex(lb, used, most, used, most and most - 1)
return { 'OK' }
