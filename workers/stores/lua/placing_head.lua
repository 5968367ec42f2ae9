-- Third part of `allocate`: finds a place for every want; if all have one, writes it and, where nobody waits, answers.
-- KEYS[1], ARGV and what may be returned here: see allocate.lua. JSON is joined from text: encoding takes longer than the rest.
local complete, at, i = lacking <= m[5] + 0 and not over, 1, 1 -- a full pool is not looked at
for n = 1, complete and runs and #runs or 0 do
  local keys, next_one, c, off = {}, 0, nil, nil
  local first, last, kind = 0, size, runs[n][3]
  for count in (kind and call('HGET', META, 'precreated') or ''):gmatch('%d+') do
    if kind == 1 then last = first + count elseif kind > 1 then first = first + count end
    kind = kind - 1
  end
  if exact then first, last = exact - start, exact - start + runs[n][2] end
  for port = 1, runs[n][2] do keys[port] = runs[n][1] .. (runs[n][2] > 1 and '+' .. port - 1 or '') end
  repeat
    next_one = next_one + 1
    c = complete and candidate(next_one)
    off = c and c.most - c.used >= #keys and next_row(c.bits, #keys, first, last, step)
  until off or not c
  complete = c
  if complete then take(c, off, keys, 1, #keys) end
end
while complete and at <= #singles do
  local c, from = candidate(i), 0
  local room = c and math.min(c.most - c.used, #singles - at + 1) or 0
  while room > 0 do
    local off, ports = next_run(c.bits, from, room, size)
    if ports < 1 then break end
    take(c, off, singles, at, at + ports - 1)
    at, room, from = at + ports, room - ports, off + ports
  end
  complete, i = c, i + 1
end

local answer
if complete then
  local facts = {}
  for _, c in ipairs(loaded) do
    if c.used > c.was then
      call('HSET', LBS, 'u:' .. c.lb, c.used, 'b:' .. c.lb, c.bits)
      local full = c.used >= c.most and call('ZREM', ROOM, c.lb) and call('ZREM', ORDER, c.lb)
      if not full then call('ZADD', ROOM, c.used, c.lb) end
      facts[#facts + 1] = '"' .. c.lb .. '":' .. c.json
    end
  end
  if added[1] then
    json = (json and json:sub(1, -2) .. ',' or '{') .. table.concat(added, ',') .. '}'
    call('HSET', OWNERS, name, json)
    call('HSET', META, 'free', m[5] - lacking)
    call('HINCRBY', SPACES, space, lacking)
  end
  for key in pairs(held or {}) do -- a load balancer that carries several is named again
    local lb = key:match('^(.*):')
    local row = call('HGET', LBS, 'j:' .. lb)
    if row then facts[#facts + 1] = '"' .. lb .. '":' .. row end
  end
  answer = '{"entries":' .. (json or '{}') .. ',"lbs":{' .. table.concat(facts, ',') .. '},"woken":'
  if (m[6] or 0) + (m[8] or 0) == 0 then return answer .. '[]}' end
end
