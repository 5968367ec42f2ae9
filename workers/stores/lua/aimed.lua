-- Records what is registered for a precreated port, after the calls; ends the wish to compare that they have served.
-- KEYS[1] prefix of the pool.
-- ARGV server, mark of the run's incarnation, name, token, uid, entry key, address (ip:port or ''), state, wish served or ''.
-- Returns {'NOT_READY'} | {'STALE'} | {'CHANGED'} | {'OK', 1 if a comparison is still wished}.
local server, run, name, tok, uid, key, address, state, served = unpack(ARGV)
local why = refusal(server, run, name, tok)
if why then return { why } end
local held = entries(name)
local e = held[key]
if not e or e.u ~= uid or e.s == 'releasing' then return { 'CHANGED' } end
e.a, e.s, e.x = address, state, nil
keep(name, held)
if served ~= '' and call('HGET', COMPARE, key) == served then call('HDEL', COMPARE, key) end
return { 'OK', call('HEXISTS', COMPARE, key) }
