-- Notes which address will be registered for a precreated port, before the call, so that an heir of the run drops it.
-- KEYS[1] prefix of the pool.
-- ARGV server, mark of the run's incarnation, name, token, uid, entry key, address (ip:port or '').
-- Returns {'NOT_READY'} | {'STALE'} | {'CHANGED'} | {'OK', listener ARN, target group ARN (both '': not in stock), request to
--   compare or '', addresses that may be registered}.
--- @include "lib/keys"
--- @include "lib/stock_keys"
--- @include "lib/refusal"
--- @include "lib/entries_of"
--- @include "lib/save_entries"
local server, mark, name, token, uid, key, address = unpack(ARGV)
local why = refusal(server, mark, name, token)
if why then return { why } end
local entries = entries_of(name)
local entry = entries[key]
if not entry or entry.uid ~= uid or entry.state == 'releasing' then return { 'CHANGED' } end
local tried, known = {}, { [''] = true }
for _, other in ipairs({ entry.target or '', address, unpack(entry.tried or {}) }) do
  if not known[other] then tried[#tried + 1], known[other] = other, true end
end
entry.listener, entry.target_group = (call('HGET', STOCK, key) or ''):match('^(%S*) ?(%S*)$')
entry.tried = #tried > 0 and tried or nil
save_entries(name, entries)
return { 'OK', entry.listener, entry.target_group, call('HGET', COMPARE, key) or '', tried }
