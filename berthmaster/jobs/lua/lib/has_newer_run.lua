-- Whether a run after that of the token has the pool. A token is microseconds and a nonce.
--- @include "lib/keys"
local function has_newer_run(token)
  local latest = (redis.call('HGET', META, 'run') or '0'):match('^%d+') or 0
  return tonumber(latest) > tonumber(token:match('^%d+'))
end
