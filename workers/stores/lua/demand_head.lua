-- Shared head, before waiting_head: what waiters want, in number and by kind of precreated listeners. META precreated: how many
-- of each kind a load balancer has, one kind after the other from the first port on, as `3,2,0`; '' in other pools. META kept:
-- how many of each are kept for the woken. KEYS[1] as there. What a waiter wants of each kind is written in the same way.
-- ARGV and returns: see each script.
local function numbers(text)
  local found = {}
  for number in (text or ''):gmatch('%d+') do found[#found + 1] = number + 0 end
  return found
end

local function keep_kinds(kinds, sign) -- begins, or with -1 ends, to keep free ports for a woken waiter
  local kept = kinds ~= '' and numbers(call('HGET', META, 'kept')) or {}
  for kind, ports in ipairs(numbers(kinds)) do kept[kind] = (kept[kind] or 0) + sign * ports end
  if kinds ~= '' then call('HSET', META, 'kept', table.concat(kept, ',')) end
end

local function each_kind(lb, counts, found) -- adds the free ports of a load balancer, by kind
  local bits, off = call('HGET', LBS, 'b:' .. lb) or '', 0
  for kind, count in ipairs(counts) do
    for port = off, off + count - 1 do
      local byte = bits:byte(math.floor(port / 8) + 1) or 0
      if math.floor(byte / 2 ^ (port % 8)) % 2 == 0 then found[kind] = found[kind] + 1 end
    end
    off = off + count
  end
end

local function free_kinds() -- free ports of each kind that are kept for nobody; nil: in this pool all ports are alike
  local m = call('HMGET', META, 'precreated', 'kept')
  local counts, kept, free = numbers(m[1]), numbers(m[2]), {}
  if #counts == 0 then return nil end
  for kind in ipairs(counts) do free[kind] = -(kept[kind] or 0) end
  for _, lb in ipairs(call('ZRANGE', ORDER, 0, -1)) do each_kind(lb, counts, free) end
  return free
end

local function fits(kinds, free) -- and if so, takes them off
  local wanted = free and numbers(kinds) or {}
  for kind, ports in ipairs(wanted) do if ports > free[kind] then return false end end
  for kind, ports in ipairs(wanted) do free[kind] = free[kind] - ports end
  return true
end

local function demand_of(name)
  local ports, joined, picky, freed, kinds = (call('HGET', DEMAND, name) or ''):match('^(%d+):(%d+):([01]):(%d+):(.*)$')
  return tonumber(ports), tonumber(joined), tonumber(picky), freed, kinds
end

local function space_of(name) return name:match('^[^/]*') end

local function claim(name, ports) -- SPACES has for each namespace the ports that its pods hold or are on the waiting list for
  local space = space_of(name)
  if call('HINCRBY', SPACES, space, ports) <= 0 then call('HDEL', SPACES, space) end
end
