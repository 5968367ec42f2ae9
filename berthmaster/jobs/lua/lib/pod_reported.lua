-- A pod that must report has done so, or is gone. The last one of them ends the verification.
--- @include "lib/keys"
local function pod_reported(server, uid)
  if redis.call('SREM', EXPECT, uid) == 1 and redis.call('SCARD', EXPECT) == 0 then
    redis.call('HSET', META, 'inc', server)
  end
end
