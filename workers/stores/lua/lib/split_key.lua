-- Load balancer and port of the key of an entry, `lb:port`.
local function split_key(key) return key:match('^(.*):(%d+)$') end
