-- Ends an intent: adds its load balancers, raises the epoch, wakes the waiters that fit; all or nothing, once.
-- KEYS[1] prefix of the pool.
-- ARGV server, id of the intent, load balancers JSON [{name, arn, dns, slot, position, capacity, retiring}, ...].
-- Returns {'NOT_READY'} | {'OVER'} (not the open intent) | {'OK', epoch, woken names}.
local server, id, lbs = unpack(ARGV)
if not ready(server) then return { 'NOT_READY' } end
local json = call('HGET', META, 'intent')
if not json or cjson.decode(json).id ~= id then return { 'OVER' } end
for _, lb in ipairs(cjson.decode(lbs)) do
  if call('HEXISTS', LBS, 'j:' .. lb.name) == 0 then
    local facts = { arn = lb.arn, dns = lb.dns, slot = lb.slot, position = lb.position, foreign = {}, contested = {} }
    local used, _, bits = use_of(lb.name) -- it may have been in the pool before, and still carry ports
    local now_bits, most = furnish(lb.name, bits, 0, lb.capacity)
    call('HSET', LBS, 'j:' .. lb.name, cjson.encode(facts), 'b:' .. lb.name, now_bits)
    if most then call('HSET', LBS, 'c:' .. lb.name, most) end
    if lb.retiring then call('HSET', LBS, 'r:' .. lb.name, 1) end
    call('HSET', SLOTS, lb.slot, lb.name)
    reindex(lb.name, used, nil, used, most)
  end
end
call('HDEL', META, 'intent')
local epoch = call('HINCRBY', META, 'epoch', 1)
return { 'OK', string.format('%.0f', epoch), wake() }
