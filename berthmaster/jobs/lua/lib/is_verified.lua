-- Whether every pod of the pool has reported to this server.
--- @include "lib/keys"
local function is_verified(server) return redis.call('HGET', META, 'inc') == server end
