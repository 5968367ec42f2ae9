-- Shared head, after ledger_head: the waiting list of a pool. WAITING and WOKEN are sorted sets of names, DEMAND has `ports:joined`.
-- KEYS[1] as there. A waiter leaves by its own allocation or end only; being woken moves it to WOKEN, where a sweep finds it again.
-- ARGV and returns: see each script. META demand: ports wanted by all on the list; META woken: by those in WOKEN.
local function now_ms()
  local t = call('TIME')
  return t[1] * 1000 + math.floor(t[2] / 1000)
end

local function demand_of(name)
  local ports, joined = (call('HGET', DEMAND, name) or ''):match('^(%d+):(%d+)$')
  return tonumber(ports), tonumber(joined)
end

local function leave(name) -- true if it was on the list
  local ports = demand_of(name)
  if not ports then return false end
  if call('ZREM', WOKEN, name) == 1 then call('HINCRBY', META, 'woken', -ports) end
  call('ZREM', WAITING, name); call('HDEL', DEMAND, name)
  call('HINCRBY', META, 'demand', -ports)
  return true
end

local function join(name, ports) -- keeps its place in the line when it waits already
  local _, joined = demand_of(name)
  joined = joined or now_ms()
  leave(name)
  call('ZADD', WAITING, joined, name)
  call('HSET', DEMAND, name, string.format('%d:%.0f', ports, joined))
  call('HINCRBY', META, 'demand', ports)
end

local function wake() -- moves the waiters that fit the free ports of now to WOKEN; returns their names, first come first
  local m = call('HMGET', META, 'free', 'woken', 'state')
  local room, names, from = tonumber(m[1] or 0) - tonumber(m[2] or 0), {}, 0
  while room > 0 and m[3] == 'Active' do
    local page = call('ZRANGE', WAITING, from, from + 99)
    for _, name in ipairs(page) do
      local ports = demand_of(name)
      if ports <= room then
        names[#names + 1], room = name, room - ports
        call('HINCRBY', META, 'woken', ports)
      end
    end
    if #page < 100 then break end
    from = from + 100
  end
  local now = now_ms()
  for _, name in ipairs(names) do call('ZREM', WAITING, name); call('ZADD', WOKEN, now, name) end
  return names
end
