-- Gives retained or bound entries of dead pods of a name to its living one. Retained without a time: their tags are to be written.
-- KEYS[1] prefix of the pool.
-- ARGV server, mark of the run's incarnation, name, token, uid of the living pod, JSON {"lb:port": uid of the dead one}.
-- Returns {'NOT_READY'} | {'STALE'} | {'CHANGED'} (one is not that uid's, or its time was over; nothing written) | {'OK'}.
--- @include "lib/keys"
--- @include "lib/stock_keys"
--- @include "lib/refusal"
--- @include "lib/entries_of"
--- @include "lib/save_entries"
--- @include "lib/compare_targets"
local server, mark, name, token, uid, dead_uids = unpack(ARGV)
local why = refusal(server, mark, name, token)
if why then return { why } end
local entries, inherited = entries_of(name), cjson.decode(dead_uids)
for key, dead_uid in pairs(inherited) do
  local entry = entries[key]
  local heritable = entry and (entry.state == 'bound' or entry.state == 'retained')
  if not heritable or entry.uid ~= dead_uid then return { 'CHANGED' } end
end
for key in pairs(inherited) do
  local entry = entries[key]
  entry.uid, entry.state, entry.target, entry.tried, entry.expires_at = uid, 'retained', '', nil, nil
  if call('HEXISTS', STOCK, key) == 1 then compare_targets(key) end -- what is registered there may be anybody's
end
save_entries(name, entries)
return { 'OK' }
