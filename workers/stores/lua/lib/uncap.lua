-- Takes a name off those whose namespace has its share. Returns when it joined them, nil if it was not there. A name leaves by its
-- own allocation or end only, as a waiter does; to be told twice to look again costs little.
--- @include "lib/keys"
--- @include "lib/waiting_keys"
local function uncap(name)
  local member = call('HGET', CAP, name)
  if not member then return nil end
  call('HDEL', CAP, name)
  call('ZREM', CAPPED, member)
  call('HINCRBY', META, 'capped', -1)
  return member:match('^[^/]*/(%d+)')
end
