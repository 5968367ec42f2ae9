-- Records what becomes an event, in the step that it belongs to: a worker writes the event, then deletes the entry.
--- @include "lib/keys"

local function add_to_outbox(...)
  local entry = { 'XADD', OUTBOX, 'MAXLEN', '~', 10000, '*', ... }
  if redis.pcall(unpack(entry)).err then -- what is there is no stream, or takes no entry any more: it costs events only
    redis.call('DEL', OUTBOX)
    redis.call(unpack(entry))
  end
end
