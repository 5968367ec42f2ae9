-- Moves an entry to the owner whose listener was found on its port, live and publishing it (rule `tagrule`).
-- KEYS[1] prefix of the pool.
-- ARGV server, mark of the run's incarnation, name, token, uid, entry key, other name, other uid, other want,
--   listener ARN, target group ARN.
-- Returns {'NOT_READY'} | {'STALE'} | {'CHANGED'} | {'OK', names that may look again}.
local server, run, name, tok, uid, key, other, other_uid, want, listener, group = unpack(ARGV)
local why = refusal(server, run, name, tok)
if why then return { why } end
local held = entries(name)
if not held[key] or held[key].u ~= uid or held[key].s == 'releasing' then return { 'CHANGED' } end
held[key] = nil
keep(name, held)
local theirs = entries(other)
theirs[key] = { w = want, u = other_uid, s = 'bound', l = listener, t = group, k = tok }
keep(other, theirs)
claim(name, -1); claim(other, 1)
return { 'OK', admit({}, name) }
