-- Marks an entry releasing, with the listener that will be deleted by its ARN. Never taken back; said again on each retry.
-- KEYS[1] prefix of the pool.
-- ARGV server, mark of the run's incarnation, name, token, uid, entry key, listener ARN or '', target group ARN or ''.
-- Returns {'NOT_READY'} | {'STALE'} | {'CHANGED'} | {'OK'}.
local server, run, name, tok, uid, key, listener, group = unpack(ARGV)
local why = refusal(server, run, name, tok)
if why then return { why } end
local held = entries(name)
local e = held[key]
if not e or e.u ~= uid then return { 'CHANGED' } end
e.s, e.l, e.t = 'releasing', listener, group
keep(name, held)
return { 'OK' }
