-- Shared head, after demand_head: the waiting list of a pool. WAITING and WOKEN are sorted sets of names, DEMAND has
-- `ports:joined:0:freed:kinds`, with 1 for one that asks for more than any free port: a run of ports, or a kind of them. KEYS[1]
-- as there. A waiter leaves by its own allocation or end only; being woken moves it to WOKEN, where a sweep finds it again.
-- ARGV and returns: see each script. META waiters: all on the list; META demand: ports that they want; META woken: by those in
-- WOKEN; META stuck: by those in WAITING that have the 1. They have failed whatever the number of free ports, so those are no
-- supply for them, and they are not woken before ports have become free since (META freed): two of them would wake each other
-- for ever.
local function now_ms() return math.floor(now_us() / 1000) end

local function wake() -- moves the waiters that fit the free ports of now to WOKEN; returns their names, first come first
  local m = call('HMGET', META, 'free', 'woken', 'state', 'freed')
  local room, names, from, now = tonumber(m[1] or 0) - tonumber(m[2] or 0), {}, 0, now_ms()
  local left, stuck = room, 0
  local free = left > 0 and m[3] == 'Active' and free_kinds()
  while left > 0 and m[3] == 'Active' do
    local page = call('ZRANGE', WAITING, from, from + 99)
    if #page == 0 then break end
    for i, demand in ipairs(call('HMGET', DEMAND, unpack(page))) do
      local ports, picky, freed, kinds = demand:match('^(%d+):%d+:([01]):(%d+):(.*)$')
      if ports + 0 <= left and not (picky == '1' and freed == (m[4] or '0')) and fits(kinds, free) then
        names[#names + 1], left, stuck = page[i], left - ports, stuck + ports * picky
        keep_kinds(kinds, 1)
      end
    end
    from = from + 100
  end
  if left < room then call('HINCRBY', META, 'woken', room - left); call('HINCRBY', META, 'stuck', -stuck) end
  for _, name in ipairs(names) do call('ZREM', WAITING, name); call('ZADD', WOKEN, now, name) end
  return names
end

local function leave(name) -- returns the names that may have the room which was kept for it
  local ports, _, picky, _, kinds = demand_of(name)
  if not ports then return {} end
  local woken = call('ZREM', WOKEN, name) == 1
  call('ZREM', WAITING, name); call('HDEL', DEMAND, name)
  call('HINCRBY', META, 'demand', -ports); call('HINCRBY', META, 'waiters', -1); claim(name, -ports)
  if not woken and picky > 0 then call('HINCRBY', META, 'stuck', -ports) end
  if not woken then return {} end
  call('HINCRBY', META, 'woken', -ports)
  keep_kinds(kinds, -1)
  return wake()
end

local function join(name, ports, picky, kinds) -- keeps its place in the line when it waits already; returns names as `leave` does
  local _, joined = demand_of(name)
  local names = leave(name) -- before it waits again: a waiter that has just failed is not woken for the same free ports
  local freed = call('HGET', META, 'freed') or 0
  joined = joined or math.max(now_ms(), (call('ZREVRANGE', WAITING, 0, 0, 'WITHSCORES')[2] or 0) + 1) -- last, whatever TIME says
  call('ZADD', WAITING, joined, name)
  call('HSET', DEMAND, name, string.format('%d:%.0f:%d:%s:%s', ports, joined, picky, freed, table.concat(kinds, ',')))
  call('HINCRBY', META, 'demand', ports); call('HINCRBY', META, 'waiters', 1); claim(name, ports)
  if picky > 0 then call('HINCRBY', META, 'stuck', ports) end
  return names
end
