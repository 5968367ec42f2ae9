-- Notes which address will be registered for a precreated port, before the call, so that an heir of the run drops it.
-- KEYS[1] prefix of the pool.
-- ARGV server, mark of the run's incarnation, name, token, uid, entry key, address (ip:port or '').
-- Returns {'NOT_READY'} | {'STALE'} | {'CHANGED'} | {'OK', listener ARN, target group ARN (both '': not in stock), wish to
--   compare or '', addresses that may be registered}.
local server, run, name, tok, uid, key, address = unpack(ARGV)
local why = refusal(server, run, name, tok)
if why then return { why } end
local held = entries(name)
local e = held[key]
if not e or e.u ~= uid or e.s == 'releasing' then return { 'CHANGED' } end
local tried, known = {}, { [''] = true }
for _, one in ipairs({ e.a or '', address, unpack(e.x or {}) }) do
  if not known[one] then tried[#tried + 1], known[one] = one, true end
end
e.l, e.t = (call('HGET', STOCK, key) or ''):match('^(%S*) ?(%S*)$')
e.x = #tried > 0 and tried or nil
keep(name, held)
return { 'OK', e.l, e.t, call('HGET', COMPARE, key) or '', tried }
