-- The one open intent of a pool, if the spec still permits it; else, if the epoch stands, a new one for the demand that does not fit now.
-- KEYS[1] prefix of the pool.
-- ARGV server, epoch, id of a new intent, capacity of a load balancer, most a round, most at all, slots JSON [number, ...].
-- Returns {'NOT_READY'} | {'CLOSED'} | {'OLD', epoch} | {'ENOUGH'} | {'LIMIT'} | {'INTENT', JSON {id, epoch, slots}}.
local server, epoch, id, capacity, per_round, limit, slots = unpack(ARGV)
if not ready(server) then return { 'NOT_READY' } end
local m = call('HMGET', META, 'intent', 'epoch', 'state')
if m[3] ~= 'Active' then return { 'CLOSED' } end
if m[1] then
  local open, may, stands, new = cjson.decode(m[1]), {}, true, 0
  for _, slot in ipairs(cjson.decode(slots)) do may[slot] = true end
  for _, slot in ipairs(open.slots) do
    stands = stands and may[slot]
    if call('HEXISTS', SLOTS, slot) == 0 then new = new + 1 end -- what was made of it may be listed before it is closed
  end
  stands = open.adopts or (stands and new <= limit - call('HLEN', SLOTS))
  if stands then return { 'INTENT', m[1] } end
  call('HDEL', META, 'intent') -- the spec forbids it by now; what was made of it already, the audit adopts
end
if m[2] ~= epoch then return { 'OLD', m[2] } end
local _, needed = short(capacity)
if needed == 0 then return { 'ENOUGH' } end
local most = math.min(needed, tonumber(per_round), limit - call('HLEN', SLOTS))
local picked = {}
for _, slot in ipairs(cjson.decode(slots)) do
  if #picked >= most then break end
  if call('HEXISTS', SLOTS, slot) == 0 then picked[#picked + 1] = slot end
end
if #picked == 0 then return { 'LIMIT' } end
local json = cjson.encode({ id = id, epoch = epoch, slots = picked })
call('HSET', META, 'intent', json)
return { 'INTENT', json }
