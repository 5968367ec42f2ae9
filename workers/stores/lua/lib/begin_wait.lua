-- Notes that a pod waits for ports. Returns its new entry of OUTBOX, which whoever writes events must turn into one; '' for a pod
-- that waited already.
--- @include "lib/keys"
--- @include "lib/waiting_keys"
local function begin_wait(name, uid, ports, reason)
  if call('HGET', WAITERS, name) == uid then return '' end
  call('HSET', WAITERS, name, uid)
  local fields = { 'name', name, 'uid', uid, 'ports', ports, 'reason', reason }
  local entry = { 'XADD', OUTBOX, 'MAXLEN', '~', 10000, '*', unpack(fields) }
  local id = redis.pcall(unpack(entry))
  if type(id) == 'string' then return id end
  call('DEL', OUTBOX) -- what is there is no stream, or takes no entry any more: it costs events only
  return call(unpack(entry))
end
