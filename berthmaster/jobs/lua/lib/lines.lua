-- Where jobs wait: in the line of their kinds for a slot, or in the line of their serial key.
--- @include "lib/keys"
--- @include "lib/accepts"
--- @include "lib/order"

local function kinds_of(job)
  local kinds = { unpack(job.phases) }
  table.sort(kinds)
  return table.concat(kinds, ',')
end

local function needs_key(job) -- a phase that only slots for any job take is alone behind its serial key
  if job.serial_key == '' then return false end
  for _, class in ipairs(redis.call('SMEMBERS', CLASSES)) do
    if class ~= '*' and accepts(class, { job.phases[job.phase_number] }) then return false end
  end
  return true
end

local function rank_of(job) return job.priority * ORDER.priority + job.arrival end

local function wait_for_key(id, job) -- false: the job needs none, or may have it
  local holder = needs_key(job) and redis.call('HGET', KEYED, job.serial_key)
  if not holder or holder == id then return false end
  local rank = rank_of(job) + ORDER.key_line[job.state]
  redis.call('ZADD', PREFIX .. 'blocked:' .. job.serial_key, string.format('%.0f', rank), id)
  return true
end

local function enter_line(id, job) -- of its serial key, while no slot would be of use to it
  if wait_for_key(id, job) then return end
  redis.call('ZADD', PREFIX .. 'wait:' .. kinds_of(job), string.format('%.0f', rank_of(job)), id)
  redis.call('SADD', SIGS, kinds_of(job))
end

local function leave_line(id, job)
  redis.call('ZREM', PREFIX .. 'wait:' .. kinds_of(job), id)
  if job.serial_key ~= '' then redis.call('ZREM', PREFIX .. 'blocked:' .. job.serial_key, id) end
end
