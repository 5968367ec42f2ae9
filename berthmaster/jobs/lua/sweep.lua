-- What time brings: reservations that run out, jobs whose time limit is over, jobs that may be placed now, messages to send again,
-- records to forget. Then repairs serial keys that belong to no record.
-- When TIME went back since it was noted (META noted), nothing is further away than its length; when it went far ahead since the
-- last sweep (META swept), or nobody swept, reservations and time limits last for as much longer: a person's time to decide, and a
-- job's to run, is never cut.
-- KEYS[1] prefix of the pool.
-- ARGV server, ms that an ended job is remembered, most of each, ms within which the next sweep comes.
-- Returns {'NOT_READY'} | {'OK', ids whose reservation ran out [id, ...], placed [JSON, ...], ids whose record cannot be read
--   [id, ...], ids of jobs that run beside the one that has their serial key [id, ...], ids of jobs whose time limit was over, each
--   followed by the limit [id, queue or run, ...]}.
--- @include "lib/keys"
--- @include "lib/is_verified"
--- @include "lib/now_ms"
--- @include "lib/jobs"
--- @include "lib/pods"
--- @include "lib/save_pod"
--- @include "lib/slot_of_job"
--- @include "lib/indexes"
--- @include "lib/limits"
--- @include "lib/lines"
--- @include "lib/transition"
--- @include "lib/messages"
--- @include "lib/apply"
--- @include "lib/jobs_in_slots"
--- @include "lib/logs"
--- @include "lib/key_holders"
--- @include "lib/advance_key_line"
--- @include "lib/place"
local EXPIRE = {} --- @table "expire"
local OVERDUE = {} --- @table "overdue"
local DELAY_OVER = {} --- @table "delay_over"
local RESEND = {} --- @table "resend"
local server, kept, most, pause = unpack(ARGV)
if redis.call('HGET', META, 'seen') ~= server then return { 'NOT_READY' } end
local now, expired, over_time = now_ms(), {}, {}
local swept = tonumber(redis.call('HGET', META, 'swept')) or now
local noted = tonumber(redis.call('HGET', META, 'noted')) or swept

local function shorten_waits() -- TIME went back
  for _, id in ipairs(redis.call('ZRANGE', DUE, 0, -1)) do
    local job = load_job(id)
    if job then redis.call('ZADD', DUE, 'LT', now + job.hold_ms, id) end
  end
  for _, id in ipairs(redis.call('ZRANGE', LIMITS, 0, -1)) do
    local job = load_job(id)
    local length = job and limit_ms(job)
    if length then redis.call('ZADD', LIMITS, 'LT', now + length, id) end
  end
  for _, index in ipairs({ STOPPING, ENDED }) do
    local later = redis.call('ZRANGE', index, '(' .. now, '+inf', 'BYSCORE')
    for _, id in ipairs(later) do redis.call('ZADD', index, now, id) end
  end
  for _, index in ipairs({ LATER, SENT }) do
    for _, id in ipairs(redis.call('ZRANGE', index, 0, -1)) do redis.call('ZADD', index, 'LT', now + RESEND_MS, id) end
  end
  for _, uid in ipairs(redis.call('HKEYS', PODS)) do
    local pod = load_pod(uid)
    if pod then
      pod.reported_at = math.min(pod.reported_at, now)
      pod.closed_at = pod.closed_at and math.min(pod.closed_at, now)
      save_pod(uid, pod)
    end
  end
  for _, field in ipairs({ 'up', 'down', 'asked' }) do
    if tonumber(redis.call('HGET', META, field) or 0) > now then redis.call('HSET', META, field, now) end
  end
end

local function part_of(command, key, cursor) -- some of what is there, and in the next sweeps the rest
  local next_cursor, part = unpack(redis.call(command, key, redis.call('HGET', META, cursor) or 0, 'COUNT', most))
  redis.call('HSET', META, cursor, next_cursor)
  return part
end

local function is_holder(id, key)
  local job = load_job(id)
  return job and job.serial_key == key and KEY_HOLDERS[job.state]
end

local function free_keys_of_nobody() -- what a slot says to run keeps its key: its runner says when it is over
  local holders, in_slots = part_of('HSCAN', KEYED, 'keyed_cursor'), nil
  for at = 1, #holders, 2 do
    local key, id = holders[at], holders[at + 1]
    if not is_holder(id, key) then
      in_slots = in_slots or jobs_in_slots()
      if not in_slots then return end
      if not (in_slots[id] and in_slots[id].running) then
        redis.call('HDEL', KEYED, key)
        advance_key_line(key)
      end
    end
  end
end

local function unreadable_jobs()
  local unreadable = {}
  for _, id in ipairs(part_of('SSCAN', UNREADABLE, 'unreadable_cursor')) do
    local is_one = redis.call('HEXISTS', JOBS, id) == 1 and not load_job(id)
    if is_one then unreadable[#unreadable + 1] = id else redis.call('SREM', UNREADABLE, id) end
  end
  return unreadable
end

local function jobs_beside() -- the holder of their serial key
  local beside = {}
  for _, id in ipairs(redis.call('SMEMBERS', BESIDE)) do
    local job = load_job(id)
    local holder = job and redis.call('HGET', KEYED, job.serial_key)
    if holder and holder ~= id and KEY_HOLDERS[job.state] then
      beside[#beside + 1] = id
    elseif holder or not (job and KEY_HOLDERS[job.state]) then
      redis.call('SREM', BESIDE, id)
    end
  end
  return beside
end

local function line_up_undecided() -- those that still wait: this script places them, or says that no slot is free
  for _, id in ipairs(redis.call('SMEMBERS', UNDECIDED)) do
    local job = load_job(id)
    lined_up[id] = job and redis.call('ZSCORE', PREFIX .. 'wait:' .. kinds_of(job), id) and job or nil
  end
  redis.call('DEL', UNDECIDED)
end

local function due_in(index, time) return redis.call('ZRANGE', index, '-inf', time, 'BYSCORE', 'LIMIT', 0, most) end

if now < noted then shorten_waits() end
if now - swept > tonumber(pause) then
  for _, index in ipairs({ DUE, LIMITS }) do
    for _, id in ipairs(redis.call('ZRANGE', index, 0, -1)) do redis.call('ZINCRBY', index, now - swept, id) end
  end
end
redis.call('HSET', META, 'swept', now, 'noted', now)
if not is_verified(server) then return { 'NOT_READY' } end
for _, id in ipairs(due_in(DUE, now)) do
  redis.call('ZREM', DUE, id)
  local job = load_job(id)
  local row = job and transition(job, EXPIRE, {})
  if row then apply(id, job, row, {}); expired[#expired + 1] = id end
end
for _, id in ipairs(due_in(LIMITS, now)) do
  redis.call('ZREM', LIMITS, id)
  local job = load_job(id)
  local row = job and transition(job, OVERDUE, { limited = limit_ms(job) ~= nil })
  if row then
    apply(id, job, row, {})
    over_time[#over_time + 1] = id
    over_time[#over_time + 1] = row.limit
  end
end
for _, id in ipairs(due_in(LATER, now)) do
  redis.call('ZREM', LATER, id)
  local job = load_job(id)
  local row = job and transition(job, DELAY_OVER, {})
  if row then apply(id, job, row, {}) end
end
for _, id in ipairs(due_in(SENT, now)) do
  redis.call('ZREM', SENT, id)
  local job = load_job(id)
  local pod = job and slot_of_job(job)
  local row = job and transition(job, RESEND, { has_slot = pod, first_phase = job.phase_number == 1 })
  if row then apply(id, job, row, {}) end
  if row and pod then add_message(id, job, pod) end
end
for _, id in ipairs(due_in(ENDED, now - kept)) do
  redis.call('ZREM', ENDED, id)
  redis.call('ZREM', STOPPING, id) -- a script of an earlier version leaves it there
  redis.call('HDEL', JOBS, id)
  forget_logs(id)
end
local beside = jobs_beside()
free_keys_of_nobody()
for _, key in ipairs(part_of('SSCAN', LINES, 'lines_cursor')) do advance_key_line(key) end
line_up_undecided()
place(server)
return { 'OK', expired, placed, unreadable_jobs(), beside, over_time }
