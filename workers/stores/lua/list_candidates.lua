-- Lists the ports in use of every load balancer that has room for so many more, and tells how many load balancers the pool has
-- created.
-- KEYS[1] prefix of the pool.
-- ARGV server, mark of the run's incarnation, name, token, ports.
-- Returns {'NOT_READY'} | {'STALE'} | {'OK', load balancers, times that ports became free so far, bits (lib/get_bit.lua), ...}.
--- @include "lib/keys"
--- @include "lib/pool_keys"
--- @include "lib/refusal"
--- @include "lib/use_of"
local server, mark, name, token, ports = unpack(ARGV)
local why = refusal(server, mark, name, token)
if why then return { why } end
local reply = { 'OK', call('HLEN', SLOTS), call('HGET', META, 'freed') or '0' }
for _, lb in ipairs(call('ZRANGE', ORDER, 0, -1)) do
  local used, capacity, bits = use_of(lb)
  if capacity - used >= ports + 0 then reply[#reply + 1] = bits end
end
return reply
