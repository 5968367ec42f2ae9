-- Records what the cloud has for entries of an owner, and whether they are bound.
-- KEYS[1] prefix of the pool.
-- ARGV server, mark of the run's incarnation, name, token, uid, items JSON {"lb:port": {s, l, t, a, r}}.
-- Returns {'NOT_READY'} | {'STALE'} | {'CHANGED'} (an entry is not this uid's any more, or is releasing; nothing written) | {'OK'}.
local server, run, name, tok, uid, items = unpack(ARGV)
local why = refusal(server, run, name, tok)
if why then return { why } end
local held = entries(name)
for key, item in pairs(cjson.decode(items)) do
  local e = held[key]
  if not e or e.u ~= uid or e.s == 'releasing' then return { 'CHANGED' } end
  e.s, e.l, e.t, e.a, e.r, e.z = item.s, item.l, item.t, item.a, item.r, nil
end
keep(name, held)
return { 'OK' }
