-- What is remembered of a claim, nil for nothing.
--- @include "lib/keys"
local function record_of(name)
  local json = redis.call('HGET', RECORDS, name)
  return json and cjson.decode(json) or nil
end
