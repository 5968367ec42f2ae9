-- Removes a claim from the sets of the claims that changes of its pods wake.
--- @include "lib/keys"
local function detach_pods(name, record)
  for _, pod in ipairs(record.pods) do redis.call('SREM', NAMERS .. pod, name, '~' .. name) end
end
