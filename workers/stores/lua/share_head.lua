-- Shared head, after waiting_head: pods whose namespace has its share (META share). They make no demand. CAPPED is a sorted set,
-- by its members alone, of `namespace/ms of joining/ports/name`; CAP has the member of each name; META capped is how many.
-- KEYS[1] as there. A name leaves by its own allocation or end only, as a waiter does; to be told twice to look again costs little.
-- ARGV and returns: see each script.
local function uncap(name) -- returns when it joined
  local member = call('HGET', CAP, name)
  if not member then return nil end
  call('HDEL', CAP, name); call('ZREM', CAPPED, member)
  call('HINCRBY', META, 'capped', -1)
  return member:match('^[^/]*/(%d+)')
end

local function fitting(space, share, names) -- adds those of a namespace that its share has room for now, first come first
  local left, from = share and share - (call('HGET', SPACES, space) or 0) or math.huge, '[' .. space .. '/'
  while left > 0 do
    local page = call('ZRANGEBYLEX', CAPPED, from, '(' .. space .. '0', 'LIMIT', 0, 100) -- 0 follows the slash
    for _, member in ipairs(page) do
      local ports, name = member:match('^[^/]*/%d+/(%d+)/(.*)$')
      if ports + 0 <= left then names[#names + 1], left = name, left - ports end
    end
    if #page < 100 then break end
    from = '(' .. page[100]
  end
end

local function admit(names, name) -- adds the capped names that fit now: of the namespace of `name`, or of all
  local m = call('HMGET', META, 'capped', 'share')
  if (m[1] or 0) + 0 == 0 then return names end
  local share, space, first = m[2] and m[2] + 0, name and space_of(name), nil
  if space then fitting(space, share, names) end
  while not space do
    first = call('ZRANGEBYLEX', CAPPED, first and '[' .. first .. '0' or '-', '+', 'LIMIT', 0, 1)[1]
    if not first then break end
    first = space_of(first)
    fitting(first, share, names)
  end
  return names
end

local function cap(name, ports) -- takes it off the waiting list; returns names as `leave` and `admit` do
  local names, joined = leave(name), uncap(name) or string.format('%016.0f', now_ms())
  admit(names, name)
  local member = space_of(name) .. '/' .. joined .. '/' .. ports .. '/' .. name
  call('ZADD', CAPPED, 0, member); call('HSET', CAP, name, member)
  call('HINCRBY', META, 'capped', 1)
  return names
end
