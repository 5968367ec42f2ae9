-- Gives an owner a free port for every want, or nothing: then it joins the waiting list. A retry gets the same answer.
-- KEYS[1] prefix of the pool.
-- ARGV server, run incarnation, name, token, uid, wants JSON [[key, ports], ...], candidates JSON [lb, ...] in the order to try, 1 if more exist.
-- Returns {'NOT_READY'} | {'STALE'} | {'CLOSED'} | {'MORE'} (try more candidates) | {'FULL', epoch} | {'OK', entries JSON,
--   load balancers of the entries: name, JSON, ...}.
local server, run, name, tok, uid, wants, candidates, more = unpack(ARGV)
local why = refusal(server, run, name, tok)
if why then return { why } end
local m = call('HMGET', META, 'state', 'epoch', 'start', 'size')
if m[1] ~= 'Active' then return { 'CLOSED' } end
local start, size, held, has = tonumber(m[3]), tonumber(m[4]), entries(name), {}
for _, e in pairs(held) do if e.u == uid and e.s ~= 'releasing' then has[e.w] = true end end
candidates = cjson.decode(candidates)
local bits, room, added, lacking, complete = {}, {}, {}, 0, true
local function place(key, ports)
  for _, lb in ipairs(candidates) do
    if not room[lb] then
      room[lb] = tonumber(call('HGET', CAP, lb) or 0) - tonumber(call('HGET', USED, lb) or 0)
      bits[lb], added[lb] = call('HGET', BITS, lb) or '', 0
    end
    local off = room[lb] >= ports and first_fit(bits[lb], ports, size)
    if off then
      for i = 0, ports - 1 do
        bits[lb] = bit_set(bits[lb], off + i, true)
        held[lb .. ':' .. (start + off + i)] = { w = ports == 1 and key or key .. '+' .. i, u = uid, s = 'allocated', k = tok }
      end
      room[lb], added[lb] = room[lb] - ports, added[lb] + ports
      return true
    end
  end
end

for _, want in ipairs(cjson.decode(wants)) do
  if not has[want[1]] and not has[want[1] .. '+0'] then
    lacking = lacking + want[2]
    complete = place(want[1], want[2]) and complete
  end
end
if not complete and more == '1' then return { 'MORE' } end
if not complete then join(name, lacking); return { 'FULL', m[2] } end
for lb, ports in pairs(added) do
  if ports > 0 then call('HSET', BITS, lb, bits[lb]); use(lb, ports) end
end
keep(name, held)
leave(name)
return { 'OK', call('HGET', OWNERS, name) or '', unpack(carriers(held)) }
