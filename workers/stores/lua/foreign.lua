-- Gives up an entry whose port carries a listener that is not ours: the port stays taken, the load balancer has one place less.
-- KEYS[1] prefix of the pool.
-- ARGV server, mark of the run's incarnation, name, token, uid, entry key.
-- Returns {'NOT_READY'} | {'STALE'} | {'CHANGED'} | {'OK'}.
local server, run, name, tok, uid, key = unpack(ARGV)
local why = refusal(server, run, name, tok)
if why then return { why } end
local held, lb, port = entries(name), port_of(key)
if not held[key] or held[key].u ~= uid or held[key].s == 'releasing' then return { 'CHANGED' } end
held[key] = nil
keep(name, held)
claim(name, -1)
local used, most, bits, absent = use_of(lb)
local json, now_most = call('HGET', LBS, 'j:' .. lb), most
if json then
  local facts, contested = cjson.decode(json), {}
  facts.foreign[#facts.foreign + 1] = tonumber(port)
  for _, other in ipairs(facts.contested) do if other ~= tonumber(port) then contested[#contested + 1] = other end end
  if most and (absent or #contested == #facts.contested) then -- a contested port is counted already, if not by its listener
    now_most = most - 1
    call('HSET', LBS, 'c:' .. lb, now_most)
  end
  facts.contested = contested
  call('HSET', LBS, 'j:' .. lb, cjson.encode(facts))
else -- the load balancer is in the pool no more, so that nobody knows its strangers
  bits = bit_set(bits, port - call('HGET', META, 'start'), false)
end
call('HSET', LBS, 'u:' .. lb, used - 1, 'b:' .. lb, bits)
call('HDEL', STOCK, key)
reindex(lb, used, most, used - 1, now_most)
return { 'OK', admit(wake(), name) }
