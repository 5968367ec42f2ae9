-- Records what the cloud has for entries of an owner, and whether they are bound.
-- KEYS[1] prefix of the pool.
-- ARGV server, mark of the run's incarnation, name, token, uid, items JSON {"lb:port": {state, listener, target_group, target, retain}}.
-- Returns {'NOT_READY'} | {'STALE'} | {'CHANGED'} (an entry is not this uid's any more, or is releasing; nothing written) | {'OK'}.
--- @include "lib/refusal"
--- @include "lib/entries_of"
--- @include "lib/save_entries"
local server, mark, name, token, uid, items = unpack(ARGV)
local why = refusal(server, mark, name, token)
if why then return { why } end
local entries = entries_of(name)
for key, item in pairs(cjson.decode(items)) do
  local entry = entries[key]
  if not entry or entry.uid ~= uid or entry.state == 'releasing' then return { 'CHANGED' } end
  entry.state, entry.retain, entry.expires_at = item.state, item.retain, nil
  entry.listener, entry.target_group, entry.target = item.listener, item.target_group, item.target
end
save_entries(name, entries)
return { 'OK' }
