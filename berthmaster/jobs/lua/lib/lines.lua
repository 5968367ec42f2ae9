-- Where jobs wait: in the line of their kinds for a slot, or in the line of their serial key.
--- @include "lib/keys"
--- @include "lib/accepts"
--- @include "lib/order"
-- luacheck: push ignore 241
-- lib/place reads it, which not every script has.
local lined_up = {} -- id -> job: whom this script has put in the line for a slot
-- luacheck: pop

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

local function is_first_in_key_line(id, line, rank) -- or before the first
  local first, first_rank = unpack(redis.call('ZRANGE', line, 0, 0, 'WITHSCORES'))
  return not first or first == id or rank < tonumber(first_rank)
end

local function wait_for_key(id, job) -- false: the job needs none, or may have it
  if not needs_key(job) then return false end
  local holder, line = redis.call('HGET', KEYED, job.serial_key), PREFIX .. 'blocked:' .. job.serial_key
  local rank = rank_of(job) + ORDER.key_line[job.state]
  if holder == id or (not holder and is_first_in_key_line(id, line, rank)) then return false end
  redis.call('ZADD', line, string.format('%.0f', rank), id)
  redis.call('SADD', LINES, job.serial_key)
  return true
end

local function enter_line(id, job) -- of its serial key, while no slot would be of use to it
  if wait_for_key(id, job) then return end
  redis.call('ZADD', PREFIX .. 'wait:' .. kinds_of(job), string.format('%.0f', rank_of(job)), id)
  redis.call('SADD', SIGS, kinds_of(job))
  lined_up[id] = job
end

local function leave_line(id, job)
  lined_up[id] = nil
  redis.call('ZREM', PREFIX .. 'wait:' .. kinds_of(job), id)
  if job.serial_key ~= '' then redis.call('ZREM', PREFIX .. 'blocked:' .. job.serial_key, id) end
end
