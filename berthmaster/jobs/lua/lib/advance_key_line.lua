-- Lets go on whoever is in the line of a serial key and need not wait there any more: all who need no key, because a slot of another
-- class takes them now, and the first of the others if nobody has the key. What is no job leaves the line.
--- @include "lib/keys"
--- @include "lib/jobs"
--- @include "lib/has_lasting_slot"
--- @include "lib/transition"
--- @include "lib/lines"
--- @include "lib/give_key"
--- @include "lib/apply"
local function advance_key_line(key)
  local line = PREFIX .. 'blocked:' .. key
  local is_free = not redis.call('HGET', KEYED, key) and not give_key(key)
  for _, id in ipairs(redis.call('ZRANGE', line, 0, -1)) do
    local job = load_job(id)
    local waits = job and needs_key(job)
    if not waits or is_free then
      if waits then is_free = false end
      redis.call('ZREM', line, id)
      local row = job and transition(job, KEY_FREE, { has_slot = has_lasting_slot(job) })
      if row then apply(id, job, row, {}) end
    end
  end
  if not redis.call('ZRANGE', line, 0, 0)[1] then redis.call('SREM', LINES, key) end
end
