-- Records an intent for a load balancer of ours that exists outside the ledger; any winner then adopts it by its name.
-- KEYS[1] prefix of the pool.
-- ARGV server, id of the intent, slot.
-- Returns {'NOT_READY'} | {'BUSY'} (an intent is open, or the slot is known) | {'OK', epoch}.
--- @include "lib/keys"
--- @include "lib/pool_keys"
--- @include "lib/verified_under"
local server, id, slot = unpack(ARGV)
if not verified_under(server) then return { 'NOT_READY' } end
if call('HEXISTS', META, 'intent') == 1 or call('HEXISTS', SLOTS, slot) == 1 then return { 'BUSY' } end
local epoch = call('HGET', META, 'epoch')
call('HSET', META, 'intent', cjson.encode({ id = id, epoch = epoch, slots = { tonumber(slot) }, adopts = true }))
return { 'OK', epoch }
