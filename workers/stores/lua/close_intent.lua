-- Ends an intent: adds its load balancers, raises the epoch, wakes the waiters that fit; all or nothing, once.
-- KEYS[1] prefix of the pool.
-- ARGV server, id of the intent, load balancers JSON [{name, arn, dns, slot, position, capacity, retiring}, ...].
-- Returns {'NOT_READY'} | {'OVER'} (not the open intent) | {'OK', epoch, woken names}.
--- @include "lib/keys"
--- @include "lib/pool_keys"
--- @include "lib/verified_under"
--- @include "lib/use_of"
--- @include "lib/apply_stock"
--- @include "lib/reindex"
--- @include "lib/wake_waiters"
local server, id, lbs = unpack(ARGV)
if not verified_under(server) then return { 'NOT_READY' } end
local intent = call('HGET', META, 'intent')
if not intent or cjson.decode(intent).id ~= id then return { 'OVER' } end
for _, lb in ipairs(cjson.decode(lbs)) do
  if call('HEXISTS', LBS, 'facts:' .. lb.name) == 0 then
    local facts = { arn = lb.arn, dns = lb.dns, slot = lb.slot, position = lb.position, foreign = {}, contested = {} }
    local used, _, bits = use_of(lb.name) -- it may have been in the pool before, and still carry ports
    local bits_now, capacity = apply_stock(lb.name, bits, 0, lb.capacity)
    call('HSET', LBS, 'facts:' .. lb.name, cjson.encode(facts), 'taken:' .. lb.name, bits_now)
    if capacity then call('HSET', LBS, 'capacity:' .. lb.name, capacity) end
    if lb.retiring then call('HSET', LBS, 'retiring:' .. lb.name, 1) end
    call('HSET', SLOTS, lb.slot, lb.name)
    reindex(lb.name, used, nil, used, capacity)
  end
end
call('HDEL', META, 'intent')
local epoch = call('HINCRBY', META, 'epoch', 1)
return { 'OK', string.format('%.0f', epoch), wake_waiters() }
