-- Forgets a claim that is gone; one that was made anew by its name stays.
-- KEYS[1] prefix of the namespace, {claims:NAMESPACE}.
-- ARGV name of the claim, its UID ('': there is no claim of this name).
-- Returns {'OK'}.
local call, P = redis.call, KEYS[1]
local name, uid = unpack(ARGV)
local told = call('HGET', P .. 'named', name)
local was = told and cjson.decode(told)
if was and (uid == '' or was.u == uid) then
  for _, pod in ipairs(was.p) do call('SREM', P .. 'pod:' .. pod, name) end
  call('HDEL', P .. 'named', name)
end
local waits = call('HGET', P .. 'waiting', name)
if waits and (uid == '' or cjson.decode(waits).uid == uid) then call('HDEL', P .. 'waiting', name) end
if was and uid == '' then uid = was.u end
if uid ~= '' then
  call('HDEL', P .. 'uids', uid)
  call('HDEL', P .. 'missing', uid)
  call('DEL', P .. 'tried:' .. uid)
end
return { 'OK' }
