-- Second head: who may pass, and which of two attempts is the later.
-- KEYS[1] as in names_head. META inc is the server under which every pod of the pool has reported, mark names its verification.
-- ARGV and returns: see each script. An attempt is `MARK-N`; marks are times of the server, so that none is used twice.
local function ready(server) return call('HGET', META, 'inc') == server end

local function newer_run(token) -- has the pool; a token is microseconds and a nonce
  return tonumber((call('HGET', META, 'run') or '0'):match('^%d+') or 0) > tonumber(token:match('^%d+'))
end

local function now_ms()
  local t = call('TIME')
  return t[1] * 1000 + math.floor(t[2] / 1000)
end

local function next_attempt() return call('HGET', META, 'mark') .. '-' .. call('HINCRBY', META, 'attempts', 1) end

local function older(one, other) -- of two attempts; '' is older than any
  local a, b = { one:match('^(%d+)-(%d+)$') }, { other:match('^(%d+)-(%d+)$') }
  if not (a[1] and b[1]) then return not a[1] and b[1] ~= nil end
  if a[1] ~= b[1] then return tonumber(a[1]) < tonumber(b[1]) end
  return tonumber(a[2]) < tonumber(b[2])
end
