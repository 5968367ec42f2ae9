-- Frees the port of an entry that is releasing, or that this very run allocated; wakes the waiters that now fit.
-- KEYS[1] prefix of the pool.
-- ARGV server, mark of the run's incarnation, name, token, uid, entry key.
-- Returns {'NOT_READY'} | {'STALE'} | {'CHANGED'} (not this uid's, or still in use) | {'OK', woken names}.
local server, run, name, tok, uid, key = unpack(ARGV)
local why = refusal(server, run, name, tok)
if why then return { why } end
local held = entries(name)
local e = held[key]
if not e or e.u ~= uid then return { 'CHANGED' } end
if e.s ~= 'releasing' and not (e.s == 'allocated' and e.k == tok and not e.l) then return { 'CHANGED' } end
held[key] = nil
keep(name, held)
claim(name, -1)
local lb, port = port_of(key)
local used, most, bits, absent = use_of(lb)
local lost = absent and call('HEXISTS', STOCK, key) == 0 -- its precreated listener is not there
if lost then lacks(lb, absent, port) else bits = bit_set(bits, port - call('HGET', META, 'start'), false) end
call('HSET', LBS, 'u:' .. lb, used - 1, 'b:' .. lb, bits)
reindex(lb, used, most, used - 1, lost and most and most - 1 or most)
return { 'OK', admit(wake(), name) }
