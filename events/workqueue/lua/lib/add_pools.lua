-- Adds pools (a JSON list, '' = none) to those recorded for a key. A request and a run may both add pools, and neither may
-- remove those of the other.
--- @include "lib/keys"
local function add_pools(key, pools)
  if pools == '' or pools == '[]' then return end
  local known, all = {}, cjson.decode(redis.call('HGET', POOLS, key) or '[]')
  for _, name in ipairs(all) do known[name] = true end
  for _, name in ipairs(cjson.decode(pools)) do
    if not known[name] then all[#all + 1] = name end
  end
  redis.call('HSET', POOLS, key, cjson.encode(all))
end
