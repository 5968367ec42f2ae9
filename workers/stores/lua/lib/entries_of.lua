--[[ The entries of an owner: {["lb:port"] = entry}, which OWNERS has as JSON. An entry has
  want, uid, state, token (of the run that allocated it),
  listener, target_group, target, tried (addresses that may be registered too),
  retain (seconds to retain it), expires_at (ms at which a retained one is over).
A list of wants stands for as many entries, on this port and those that follow it: `allocate` writes that, every other script
writes them one by one.
]]
--- @include "lib/keys"
--- @include "lib/split_key"
local function entries_of(name)
  local json = call('HGET', OWNERS, name)
  local entries, lists = json and cjson.decode(json) or {}, {}
  for key, entry in pairs(entries) do if type(entry.want) == 'table' then lists[key] = entry end end
  for key, list in pairs(lists) do
    local lb, port = split_key(key)
    for n, want in ipairs(list.want) do
      entries[lb .. ':' .. port + n - 1] = { want = want, uid = list.uid, state = list.state, token = list.token }
    end
  end
  return entries
end
