-- Adds to names the capped ones that fit their namespace's share now: of the namespace of `name`, or of all. Returns the names.
--- @include "lib/keys"
--- @include "lib/waiting_keys"
--- @include "lib/namespace_of"
local function add_fitting(namespace, share, names) -- those of one namespace, first come first
  local held = share and call('HGET', NAMESPACES, namespace) or 0
  local left, from = share and share - held or math.huge, '[' .. namespace .. '/'
  while left > 0 do
    local page = call('ZRANGEBYLEX', CAPPED, from, '(' .. namespace .. '0', 'LIMIT', 0, 100) -- 0 follows the slash
    for _, member in ipairs(page) do
      local ports, name = member:match('^[^/]*/%d+/(%d+)/(.*)$')
      if ports + 0 <= left then names[#names + 1], left = name, left - ports end
    end
    if #page < 100 then break end
    from = '(' .. page[100]
  end
end

local function add_uncapped(names, name)
  local meta = call('HMGET', META, 'capped', 'share')
  if (meta[1] or 0) + 0 == 0 then return names end
  local share = meta[2] and meta[2] + 0
  if name then
    add_fitting(namespace_of(name), share, names)
    return names
  end
  local from = '-'
  while true do
    local first = call('ZRANGEBYLEX', CAPPED, from, '+', 'LIMIT', 0, 1)[1]
    if not first then return names end
    local namespace = namespace_of(first)
    add_fitting(namespace, share, names)
    from = '[' .. namespace .. '0'
  end
end
