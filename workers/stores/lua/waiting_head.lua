-- Shared head, after gate_head: the waiting list of a pool. WAITING and WOKEN are sorted sets of names, DEMAND has `ports:joined`.
-- KEYS[1] as there. A waiter leaves by its own allocation or end only; being woken moves it to WOKEN, where a sweep finds it again.
-- ARGV and returns: see each script. META demand: ports wanted by all on the list; META woken: by those in WOKEN.
local function now_ms() return math.floor(now_us() / 1000) end

local function demand_of(name)
  local ports, joined = (call('HGET', DEMAND, name) or ''):match('^(%d+):(%d+)$')
  return tonumber(ports), tonumber(joined)
end

local function wake() -- moves the waiters that fit the free ports of now to WOKEN; returns their names, first come first
  local m = call('HMGET', META, 'free', 'woken', 'state')
  local room, names, from, now = tonumber(m[1] or 0) - tonumber(m[2] or 0), {}, 0, now_ms()
  local left = room
  while left > 0 and m[3] == 'Active' do
    local page = call('ZRANGE', WAITING, from, from + 99)
    if #page == 0 then break end
    for i, demand in ipairs(call('HMGET', DEMAND, unpack(page))) do
      local ports = tonumber(demand:match('^%d+'))
      if ports <= left then names[#names + 1], left = page[i], left - ports end
    end
    from = from + 100
  end
  if left < room then call('HINCRBY', META, 'woken', room - left) end
  for _, name in ipairs(names) do call('ZREM', WAITING, name); call('ZADD', WOKEN, now, name) end
  return names
end

local function leave(name) -- returns the names that may have the room which was kept for it
  local ports = demand_of(name)
  if not ports then return {} end
  local woken = call('ZREM', WOKEN, name) == 1
  call('ZREM', WAITING, name); call('HDEL', DEMAND, name)
  call('HINCRBY', META, 'demand', -ports)
  if not woken then return {} end
  call('HINCRBY', META, 'woken', -ports)
  return wake()
end

local function join(name, ports) -- keeps its place in the line when it waits already; returns names as `leave` does
  local _, joined = demand_of(name)
  local names = leave(name) -- before it waits again: a waiter that has just failed is not woken for the same free ports
  joined = joined or now_ms()
  call('ZADD', WAITING, joined, name)
  call('HSET', DEMAND, name, string.format('%d:%.0f', ports, joined))
  call('HINCRBY', META, 'demand', ports)
  return names
end
