-- Forgets a retiring load balancer that AWS does not have any more; its slot is free again.
-- KEYS[1] prefix of the pool.
-- ARGV server, name, ARN.
-- Returns {'NOT_READY'} | {'CHANGED'} (not this one, not retiring, or something is still held on it) | {'OK'}.
--- @include "lib/keys"
--- @include "lib/stock_keys"
--- @include "lib/pool_keys"
--- @include "lib/verified_under"
--- @include "lib/use_of"
--- @include "lib/split_key"
local server, lb, arn = unpack(ARGV)
if not verified_under(server) then return { 'NOT_READY' } end
local row = call('HMGET', LBS, 'facts:' .. lb, 'retiring:' .. lb)
local facts = row[1] and row[2] and cjson.decode(row[1])
if not facts or facts.arn ~= arn or use_of(lb) > 0 then return { 'CHANGED' } end
for _, field in ipairs({ 'facts:', 'retiring:', 'empty:', 'used:', 'taken:', 'capacity:', 'absent:' }) do
  call('HDEL', LBS, field .. lb)
end
for _, key in ipairs(call('HKEYS', STOCK)) do
  if split_key(key) == lb then
    call('HDEL', STOCK, key)
    call('HDEL', COMPARE, key)
  end
end
call('HDEL', SLOTS, facts.slot)
return { 'OK' }
