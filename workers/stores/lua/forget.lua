-- Forgets a retiring load balancer that AWS does not have any more; its slot is free again.
-- KEYS[1] prefix of the pool.
-- ARGV server, name, ARN.
-- Returns {'NOT_READY'} | {'CHANGED'} (not this one, not retiring, or something is still held on it) | {'OK'}.
local server, lb, arn = unpack(ARGV)
if not ready(server) then return { 'NOT_READY' } end
local row = call('HMGET', LBS, 'j:' .. lb, 'r:' .. lb)
local facts = row[1] and row[2] and cjson.decode(row[1])
if not facts or facts.arn ~= arn or use_of(lb) > 0 then return { 'CHANGED' } end
for _, field in ipairs({ 'j:', 'r:', 'e:', 'u:', 'b:', 'c:', 'a:' }) do call('HDEL', LBS, field .. lb) end
for _, key in ipairs(call('HKEYS', STOCK)) do
  if port_of(key) == lb then call('HDEL', STOCK, key); call('HDEL', COMPARE, key) end
end
call('HDEL', SLOTS, facts.slot)
return { 'OK' }
