-- What time brings: reservations that run out, jobs that may be placed now, messages to send again, records to forget.
-- When TIME went back since the last sweep (META swept), nothing is further away than its length; when it went far ahead, or nobody
-- swept, reservations last for as much longer: a person's time to decide is never cut.
-- KEYS[1] prefix of the pool.
-- ARGV server, ms that an ended job is remembered, most of each, ms within which the next sweep comes.
-- Returns {'NOT_READY'} | {'OK', ids whose reservation ran out [id, ...], placed [JSON, ...]}.
--- @include "lib/keys"
--- @include "lib/is_verified"
--- @include "lib/now_ms"
--- @include "lib/jobs"
--- @include "lib/pods"
--- @include "lib/save_pod"
--- @include "lib/slot_of_job"
--- @include "lib/indexes"
--- @include "lib/transition"
--- @include "lib/messages"
--- @include "lib/apply"
--- @include "lib/place"
local EXPIRE = {} --- @table "expire"
local DELAY_OVER = {} --- @table "delay_over"
local RESEND = {} --- @table "resend"
local server, kept, most, pause = unpack(ARGV)
if not redis.call('HGET', META, 'mark') then return { 'NOT_READY' } end
local now, expired = now_ms(), {}
local swept = tonumber(redis.call('HGET', META, 'swept')) or now

local function shorten_waits() -- TIME went back
  for _, id in ipairs(redis.call('ZRANGE', DUE, 0, -1)) do
    local job = load_job(id)
    if job then redis.call('ZADD', DUE, 'LT', now + job.hold_ms, id) end
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

local function due_in(index, time) return redis.call('ZRANGE', index, '-inf', time, 'BYSCORE', 'LIMIT', 0, most) end

if now < swept then shorten_waits() end
if now - swept > tonumber(pause) then
  for _, id in ipairs(redis.call('ZRANGE', DUE, 0, -1)) do redis.call('ZINCRBY', DUE, now - swept, id) end
end
redis.call('HSET', META, 'swept', now)
if not is_verified(server) then return { 'NOT_READY' } end
for _, id in ipairs(due_in(DUE, now)) do
  redis.call('ZREM', DUE, id)
  local job = load_job(id)
  local row = job and transition(job, EXPIRE, {})
  if row then apply(id, job, row, {}); expired[#expired + 1] = id end
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
  redis.call('HDEL', JOBS, id)
end
place(server)
return { 'OK', expired, placed }
