-- Remembers a claim and the pods that it names; the ones that it named before do not concern it any more.
-- KEYS[1] prefix of the namespace, {claims:NAMESPACE}.
-- ARGV name of the claim, its UID, names of the pods JSON [name, ...].
-- Returns {'OK'}.
local call, P = redis.call, KEYS[1]
local name, uid, pods = unpack(ARGV)
local told = call('HGET', P .. 'named', name)
if told then
  local was = cjson.decode(told)
  for _, pod in ipairs(was.p) do call('SREM', P .. 'pod:' .. pod, name) end
  if was.u ~= uid then
    call('HDEL', P .. 'uids', was.u)
    call('DEL', P .. 'tried:' .. was.u)
  end
end
for _, pod in ipairs(cjson.decode(pods)) do call('SADD', P .. 'pod:' .. pod, name) end
call('HSET', P .. 'uids', uid, name)
call('HSET', P .. 'named', name, '{"u":' .. cjson.encode(uid) .. ',"p":' .. pods .. '}')
return { 'OK' }
