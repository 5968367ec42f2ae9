-- Gives back an entry for which AWS takes no listener: its load balancer is full, and stays so here until it is listed again.
-- KEYS[1] prefix of the pool.
-- ARGV server, mark of the run's incarnation, name, token, uid, entry key.
-- Returns {'NOT_READY'} | {'STALE'} | {'CHANGED'} (not this uid's, or it has a listener or had one) | {'OK', woken names}.
local server, run, name, tok, uid, key = unpack(ARGV)
local why = refusal(server, run, name, tok)
if why then return { why } end
local held = entries(name)
local e = held[key]
if not e or e.u ~= uid or e.s ~= 'allocated' or (e.l or '') ~= '' then return { 'CHANGED' } end
held[key] = nil
keep(name, held)
claim(name, -1)
local lb, port = port_of(key)
local used, most, bits = use_of(lb)
local now_most = most and math.min(most, used - 1)
if most then call('HSET', LBS, 'c:' .. lb, now_most) end
call('HSET', LBS, 'u:' .. lb, used - 1, 'b:' .. lb, bit_set(bits, port - call('HGET', META, 'start'), false))
reindex(lb, used, most, used - 1, now_most)
return { 'OK', admit(wake(), name) }
