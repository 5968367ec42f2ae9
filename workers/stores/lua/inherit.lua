-- Gives retained or bound entries of dead pods of a name to its living one. Retained without a time: their tags are to be written.
-- KEYS[1] prefix of the pool.
-- ARGV server, mark of the run's incarnation, name, token, uid of the living pod, JSON {"lb:port": uid of the dead one}.
-- Returns {'NOT_READY'} | {'STALE'} | {'CHANGED'} (one is not that uid's, or its time was over; nothing written) | {'OK'}.
local server, run, name, tok, uid, wanted = unpack(ARGV)
local why = refusal(server, run, name, tok)
if why then return { why } end
local held = entries(name)
for key, dead in pairs(cjson.decode(wanted)) do
  local e = held[key]
  if not e or e.u ~= dead or e.s ~= 'bound' and e.s ~= 'retained' then return { 'CHANGED' } end
  e.u, e.s, e.a, e.x, e.z = uid, 'retained', '', nil, nil
  if call('HEXISTS', STOCK, key) == 1 then wish(key) end -- what is registered there may be anybody's
end
keep(name, held)
return { 'OK' }
