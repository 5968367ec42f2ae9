-- Stores what is remembered of a claim.
--- @include "lib/keys"
local function save_record(name, record)
  -- The pods are joined, not encoded: cjson would write an empty list as an object.
  local pods = #record.pods == 0 and '[]' or cjson.encode(record.pods)
  local head = cjson.encode({ uid = record.uid, run = record.run, write = record.write })
  redis.call('HSET', RECORDS, name, head:sub(1, -2) .. ',"pods":' .. pods .. '}')
end
