-- Why a run may not go on, nil when it may. A run gives the mark of the incarnation under which it began, and its token.
--- @include "lib/keys"
--- @include "lib/verified_under"
local function refusal(server, mark, name, token)
  if not verified_under(server, mark) then return 'NOT_READY' end
  if call('HGET', FENCES, name) ~= token then return 'STALE' end
end
