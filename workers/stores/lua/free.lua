-- Frees the port of an entry that is releasing, or that this very run allocated; wakes the waiters that now fit.
-- KEYS[1] prefix of the pool.
-- ARGV server, run incarnation, name, token, uid, entry key.
-- Returns {'NOT_READY'} | {'STALE'} | {'CHANGED'} (not this uid's, or still in use) | {'OK', woken names...}.
local server, run, name, tok, uid, key = unpack(ARGV)
local why = refusal(server, run, name, tok)
if why then return { why } end
local held = entries(name)
local e = held[key]
if not e or e.u ~= uid then return { 'CHANGED' } end
if e.s ~= 'releasing' and not (e.s == 'allocated' and e.k == tok and not e.l) then return { 'CHANGED' } end
held[key] = nil
keep(name, held)
local lb, port = port_of(key)
call('HSET', BITS, lb, bit_set(call('HGET', BITS, lb) or '', port - call('HGET', META, 'start'), false))
use(lb, -1)
return { 'OK', unpack(wake()) }
