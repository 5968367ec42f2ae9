-- Tells which pods a claim has tried to take, as far as this server knows all of them.
-- KEYS[1] prefix of the namespace, {claims:NAMESPACE}.
-- ARGV server, UID of the claim.
-- Returns {'UNKNOWN'} (Redis was new since: list them) | {'OK', name of a pod, ...}.
local call, P = redis.call, KEYS[1]
local server, uid = unpack(ARGV)
local key = P .. 'tried:' .. uid
if call('HGET', key, '') ~= server then return { 'UNKNOWN' } end
local names = { 'OK' }
for _, name in ipairs(call('HKEYS', key)) do
  if name ~= '' then names[#names + 1] = name end
end
return names
