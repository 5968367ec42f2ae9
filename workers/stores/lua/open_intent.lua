-- Tells the one open intent of a pool, if the spec still permits it; else, if the epoch stands, opens one for the demand that does
-- not fit now.
-- KEYS[1] prefix of the pool.
-- ARGV server, epoch, id of a new intent, capacity of a load balancer, most a round, most at all, slots JSON [number, ...].
-- Returns {'NOT_READY'} | {'CLOSED'} | {'OLD', epoch} | {'ENOUGH'} | {'LIMIT'} | {'INTENT', JSON {id, epoch, slots}}.
--- @include "lib/keys"
--- @include "lib/pool_keys"
--- @include "lib/verified_under"
--- @include "lib/ports_short"
local server, epoch_read, id, capacity, per_round, limit, slots = unpack(ARGV)
if not verified_under(server) then return { 'NOT_READY' } end
local meta = call('HMGET', META, 'intent', 'epoch', 'state')
local intent, epoch, state = meta[1], meta[2], meta[3]
if state ~= 'Active' then return { 'CLOSED' } end
local permitted, still_allowed = cjson.decode(slots), limit - call('HLEN', SLOTS)

if intent then
  local open, permitted_slots, stands, missing = cjson.decode(intent), {}, true, 0
  for _, slot in ipairs(permitted) do permitted_slots[slot] = true end
  for _, slot in ipairs(open.slots) do
    stands = stands and permitted_slots[slot]
    if call('HEXISTS', SLOTS, slot) == 0 then missing = missing + 1 end -- what was made of it may be listed before it is closed
  end
  if open.adopts or (stands and missing <= still_allowed) then return { 'INTENT', intent } end
  call('HDEL', META, 'intent') -- the spec forbids it by now; what was made of it already, the audit adopts
end

if epoch ~= epoch_read then return { 'OLD', epoch } end
local _, needed = ports_short(capacity)
if needed == 0 then return { 'ENOUGH' } end
local most = math.min(needed, tonumber(per_round), still_allowed)
local chosen = {}
for _, slot in ipairs(permitted) do
  if #chosen >= most then break end
  if call('HEXISTS', SLOTS, slot) == 0 then chosen[#chosen + 1] = slot end
end
if #chosen == 0 then return { 'LIMIT' } end
intent = cjson.encode({ id = id, epoch = epoch_read, slots = chosen })
call('HSET', META, 'intent', intent)
return { 'INTENT', intent }
