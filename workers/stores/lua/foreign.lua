-- Gives up an entry whose port carries a listener that is not ours: the port stays taken, the load balancer has one place less.
-- KEYS[1] prefix of the pool.
-- ARGV server, run incarnation, name, token, uid, entry key.
-- Returns {'NOT_READY'} | {'STALE'} | {'CHANGED'} | {'OK'}.
local server, run, name, tok, uid, key = unpack(ARGV)
local why = refusal(server, run, name, tok)
if why then return { why } end
local held = entries(name)
if not held[key] or held[key].u ~= uid or held[key].s == 'releasing' then return { 'CHANGED' } end
held[key] = nil
keep(name, held)
local lb, port = port_of(key)
local known = cjson.decode(call('HGET', LBS, lb))
known.foreign[#known.foreign + 1] = tonumber(port)
call('HSET', LBS, lb, cjson.encode(known))
if call('HEXISTS', CAP, lb) == 1 then
  call('HINCRBY', CAP, lb, -1); call('HINCRBY', META, 'free', -1)
end
use(lb, -1)
return { 'OK' }
