-- Writes the entries of an owner; one that has none is forgotten.
--- @include "lib/keys"
local function save_entries(name, entries)
  if next(entries) == nil then call('HDEL', OWNERS, name) else call('HSET', OWNERS, name, cjson.encode(entries)) end
end
