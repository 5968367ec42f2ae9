-- Confirms that an entry is still this uid's and not releasing: asked between finding a listener in the way and deleting it.
-- KEYS[1] prefix of the pool.
-- ARGV server, mark of the run's incarnation, name, token, uid, entry key.
-- Returns {'NOT_READY'} | {'STALE'} | {'CHANGED'} | {'OK'}.
local server, run, name, tok, uid, key = unpack(ARGV)
local why = refusal(server, run, name, tok)
if why then return { why } end
local e = entries(name)[key]
return { e and e.u == uid and e.s ~= 'releasing' and 'OK' or 'CHANGED' }
