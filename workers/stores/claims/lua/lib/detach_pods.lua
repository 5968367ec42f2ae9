-- Ends that the pods of a record concern its claim.
--- @include "lib/keys"
local function detach_pods(name, record)
  for _, pod in ipairs(record.pods) do redis.call('SREM', NAMERS .. pod, name) end
end
