-- The incarnation under which the ledger was verified, false when that is not this server's; with a mark, not this rebuild's.
--- @include "lib/keys"
local function verified_under(server, mark)
  local incarnation = call('HGET', META, 'incarnation')
  if mark then return incarnation == server .. '/' .. mark and incarnation end
  return incarnation and incarnation:sub(1, #server + 1) == server .. '/' and incarnation
end
