-- Shared head, after gate_head: the entries of an owner.
-- KEYS[1] as there. An owner is JSON {"lb:port": {w want, u uid, s state, l listener, t target group, a target, k token, x addresses
-- that may be registered too, r seconds to retain it, z ms at which a retained one is over}}.
-- ARGV and returns: see each script. A list in w stands for as many entries, on this port and those that follow it:
-- `allocate` writes that, every other script writes it out.
local function port_of(key) return key:match('^(.*):(%d+)$') end

local function expanded(held)
  local lists = {}
  for key, e in pairs(held) do if type(e.w) == 'table' then lists[key] = e end end
  for key, e in pairs(lists) do
    local lb, port = port_of(key)
    for n, want in ipairs(e.w) do held[lb .. ':' .. port + n - 1] = { w = want, u = e.u, s = e.s, k = e.k } end
  end
  return held
end

local function entries(name)
  local json = call('HGET', OWNERS, name)
  return json and expanded(cjson.decode(json)) or {}
end

local function keep(name, held)
  if next(held) == nil then call('HDEL', OWNERS, name) else call('HSET', OWNERS, name, cjson.encode(held)) end
end
