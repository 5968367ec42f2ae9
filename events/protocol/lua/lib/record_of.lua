-- Returns the record of a claim, nil if there is none.
--- @include "lib/keys"
local function record_of(name)
  local json = redis.call('HGET', RECORDS, name)
  return json and cjson.decode(json) or nil
end
