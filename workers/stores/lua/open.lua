-- Begins a run on one name: raises the fence, and shows what every UID of the name holds.
-- KEYS[1] prefix of the pool.
-- ARGV server incarnation, name, token.
-- Returns {'NOT_READY'} (or the run began before the ledger was verified) | {'LOW'} (a newer run was here) | {'OK', incarnation,
--   epoch, state, config, entries JSON or '', 1 if it waits, keys of entries to compare with AWS, load balancers of the
--   entries: name, JSON, ...}.
local server, name, tok = unpack(ARGV)
local inc = ready(server)
if not inc then return { 'NOT_READY' } end
local high = call('HGET', FENCES, name)
if high and high ~= tok and number_of(high) >= number_of(tok) then return { 'LOW' } end
local m = call('HMGET', META, 'epoch', 'state', 'config', 'floor', 'wish', 'capped')
if number_of(tok) < tonumber(m[4] or 0) then return { 'NOT_READY' } end
call('HSET', FENCES, name, tok)
local held, seen, carriers, due = call('HGET', OWNERS, name) or '', {}, {}, {}
for key in pairs(m[5] and call('HLEN', COMPARE) > 0 and entries(name) or {}) do
  if call('HEXISTS', COMPARE, key) == 1 then due[#due + 1] = key end
end
for key in pairs(held ~= '' and cjson.decode(held) or {}) do
  local lb = port_of(key)
  local facts = not seen[lb] and call('HGET', LBS, 'j:' .. lb)
  seen[lb] = true
  if facts then carriers[#carriers + 1] = lb; carriers[#carriers + 1] = facts end
end
local waits = call('HEXISTS', DEMAND, name)
if (m[6] or 0) + 0 > 0 and waits == 0 then waits = call('HEXISTS', CAP, name) end
return { 'OK', inc, m[1] or '0', m[2] or '', m[3] or '', held, waits, due, unpack(carriers) }
