-- Takes a free port as releasing for the owner named in the tag of an orphan, so that a run of that owner removes it.
-- KEYS[1] prefix of the pool.
-- ARGV server, name, uid, entry key, listener ARN or '', target group ARN or ''.
-- Returns {'NOT_READY'} | {'OUTSIDE'} (no port of ours) | {'TAKEN'} (the port has an owner: not an orphan, or not ours to
--   judge) | {'OK'}.
local server, name, uid, key, listener, group = unpack(ARGV)
if not ready(server) then return { 'NOT_READY' } end
local lb, port = port_of(key)
local off, used, most, bits = port - call('HGET', META, 'start'), use_of(lb)
local outside = off < 0 or port + 0 > 65535 or call('HEXISTS', LBS, 'j:' .. lb) == 0
if outside then return { 'OUTSIDE' } end
if bit_get(bits, off) then return { 'TAKEN' } end
call('HSET', LBS, 'u:' .. lb, used + 1, 'b:' .. lb, bit_set(bits, off, true))
reindex(lb, used, most, used + 1, most)
local held = entries(name)
held[key] = { w = '', u = uid, s = 'releasing', l = listener, t = group, k = '' }
keep(name, held)
claim(name, 1)
return { 'OK' }
