-- Moves an entry to the owner whose listener was found on its port, live and publishing it (rule `tagrule`).
-- KEYS[1] prefix of the pool.
-- ARGV server, mark of the run's incarnation, name, token, uid, entry key, other name, other uid, other want,
--   listener ARN, target group ARN.
-- Returns {'NOT_READY'} | {'STALE'} | {'CHANGED'} | {'OK', names that may look again}.
--- @include "lib/refusal"
--- @include "lib/entries_of"
--- @include "lib/save_entries"
--- @include "lib/charge"
--- @include "lib/add_uncapped"
local server, mark, name, token, uid, key, other, other_uid, want, listener, target_group = unpack(ARGV)
local why = refusal(server, mark, name, token)
if why then return { why } end
local entries = entries_of(name)
local entry = entries[key]
if not entry or entry.uid ~= uid or entry.state == 'releasing' then return { 'CHANGED' } end
entries[key] = nil
save_entries(name, entries)
local others = entries_of(other)
others[key] = {
  want = want, uid = other_uid, state = 'bound', listener = listener, target_group = target_group, token = token,
}
save_entries(other, others)
charge(name, -1)
charge(other, 1)
return { 'OK', add_uncapped({}, name) }
