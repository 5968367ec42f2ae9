-- Keeps an entry for the next pod of its owner's name, until a time: its pod is gone, and nothing is registered any more.
-- KEYS[1] prefix of the pool.
-- ARGV server, mark of the run's incarnation, name, token, uid, entry key, listener ARN or '', target group ARN or ''.
-- Returns {'NOT_READY'} | {'STALE'} | {'CHANGED'} (not this uid's, releasing, or never bound) | {'OK', ms at which it is over}.
local server, run, name, tok, uid, key, listener, group = unpack(ARGV)
local why = refusal(server, run, name, tok)
if why then return { why } end
local held = entries(name)
local e = held[key]
if not e or e.u ~= uid or e.s ~= 'bound' and e.s ~= 'retained' then return { 'CHANGED' } end
e.s, e.l, e.t, e.a, e.x = 'retained', listener, group, '', nil
e.z = e.z or math.floor(now_us() / 1000) + (e.r or 0) * 1000
keep(name, held)
call('ZADD', RETAINED, 'LT', e.z, name)
return { 'OK', string.format('%.0f', e.z) }
