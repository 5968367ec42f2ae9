-- The ports in use of every load balancer that has room for so many more, and how many load balancers the pool has created.
-- KEYS[1] prefix of the pool.
-- ARGV server, mark of the run's incarnation, name, token, ports.
-- Returns {'NOT_READY'} | {'STALE'} | {'OK', load balancers, times that ports became free so far, bits (see bits_head), ...}.
local server, run, name, tok, ports = unpack(ARGV)
local why = refusal(server, run, name, tok)
if why then return { why } end
local found = { 'OK', call('HLEN', SLOTS), call('HGET', META, 'freed') or '0' }
for _, lb in ipairs(call('ZRANGE', ORDER, 0, -1)) do
  local used, most, bits = use_of(lb)
  if most - used >= ports + 0 then found[#found + 1] = bits end
end
return found
