-- The name of a new attempt, MARK-N. Marks are times of the server, so that no name is used twice.
--- @include "lib/keys"
local function next_attempt()
  return redis.call('HGET', META, 'mark') .. '-' .. redis.call('HINCRBY', META, 'attempts', 1)
end
