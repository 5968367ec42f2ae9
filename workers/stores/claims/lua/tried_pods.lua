-- Tells which pods a claim has tried to take, as far as this server knows all of them.
-- KEYS[1] prefix of the namespace, {claims:NAMESPACE}.
-- ARGV server, UID of the claim.
-- Returns {'UNKNOWN'} (Redis was new since: list them) | {'OK', name of a pod, ...}.
--- @include "lib/keys"
local server, uid = unpack(ARGV)
local tried = TRIED .. uid
if redis.call('HGET', tried, '') ~= server then return { 'UNKNOWN' } end
local reply = { 'OK' }
for _, pod in ipairs(redis.call('HKEYS', tried)) do
  if pod ~= '' then reply[#reply + 1] = pod end
end
return reply
