-- Applies a row of the table of transitions to a job: its record, its slot, its serial key, its place in the indexes.
-- `event` has what the row takes from it: uid, slot and pod (where it is placed, or reported), attempt, phase_number,
--   outcome, result, wait (ms), ran (ms that a reported attempt has run; nil: since now).
--- @include "lib/keys"
--- @include "lib/jobs"
--- @include "lib/pods"
--- @include "lib/save_pod"
--- @include "lib/slot_of_job"
--- @include "lib/has_lasting_slot"
--- @include "lib/next_attempt"
--- @include "lib/transition"
--- @include "lib/lines"
--- @include "lib/give_key"
--- @include "lib/indexes"
--- @include "lib/limits"
--- @include "lib/messages"
--- @include "lib/announce"
local KEY_FREE = {} --- @table "key_free"

local function set_slot(uid, pod, number, slot) -- false: idle
  pod.slots[number] = slot
  save_pod(uid, pod)
end

local function free_slot(id, job)
  local pod, slot = slot_of_job(job)
  if slot then set_slot(job.uid, pod, job.slot, false) end
  redis.call('HDEL', ON_PODS, id) -- also where the record is new, because the former one was lost
  job.uid, job.slot = nil, nil
end

local function take_slot(id, job, row, event) -- its own, or the one that the event names
  local uid, number = event.uid or job.uid, event.slot or job.slot
  local pod = event.pod or load_pod(uid)
  local grant = row.attempt ~= 'new' and pod.slots[number] and pod.slots[number].grant or 0
  if job.uid ~= uid then redis.call('HSET', ON_PODS, id, uid .. ' ' .. pod.name) end
  job.uid, job.slot = uid, number
  set_slot(uid, pod, number, { job = id, attempt = job.attempt, state = row.slot, grant = grant })
  return pod
end

local function take_key(id, job)
  if needs_key(job) and not redis.call('HGET', KEYED, job.serial_key) then
    redis.call('HSET', KEYED, job.serial_key, id)
  end
end

-- Takes the first job that can go on from the line of a serial key: id, job, row of the table, or nil. What is no job that waits
-- leaves the line.
local function next_in_key_line(key)
  while true do
    local id = redis.call('ZPOPMIN', PREFIX .. 'blocked:' .. key)[1]
    if not id then return nil end
    local job = load_job(id)
    local row = job and transition(job, KEY_FREE, { has_slot = has_lasting_slot(job) })
    if row then return id, job, row end
  end
end

-- Frees the serial key, and returns the next in its line unless somebody has the key without waiting. The key may be free already,
-- when the job only waited for a slot.
local function hand_on_key(id, key)
  if key == '' then return nil end
  local holder = redis.call('HGET', KEYED, key)
  if holder and holder ~= id then return nil end
  redis.call('HDEL', KEYED, key)
  if not give_key(key) then return next_in_key_line(key) end
end

local function count_limits(id, job, row, event, counted) -- `counted`: which limit did before
  if not (job.queue_ms or job.run_ms) then return end
  if row.begins then
    begin_limit(id, job, event.ran or 0)
  elseif COUNTED[job.state] ~= counted then
    redis.call('ZREM', LIMITS, id)
  end
end

local function change(id, job, row, event)
  local counted = COUNTED[job.state]
  leave_indexes(id, job)
  local moves = job.uid and event.uid and not (job.uid == event.uid and job.slot == event.slot)
  if row.slot == 'free' or moves then free_slot(id, job) end
  job.state = row.state
  if row.attempt == 'new' then job.attempt = next_attempt()
  elseif row.attempt == 'reported' then job.attempt = event.attempt end
  if row.phase == 'first' then job.phase_number = 1
  elseif row.phase == 'next' then job.phase_number = job.phase_number + 1
  elseif row.phase == 'reported' then job.phase_number = event.phase_number end
  if row.plan == 'set' then job.plan, job.confirmed_by = job.attempt, nil
  elseif row.plan == 'clear' then job.plan = nil end
  job.limit = row.limit
  count_limits(id, job, row, event, counted)
  if row.announce then job.result = event.result end
  if row.outcome then job.outcome = row.outcome == 'as_reported' and event.outcome or row.outcome end
  local pod = row.slot and row.slot ~= 'free' and take_slot(id, job, row, event)
  if row.key == 'take' then take_key(id, job) end
  save_job(id, job)
  if row.attempt == 'new' then add_message(id, job, pod) end
end

local function apply(id, job, row, event)
  while row do -- then to the job that gets the serial key
    if row.state then change(id, job, row, event) end
    if row.index then enter_index(id, job, row.index, event.wait) end
    if row.announce then announce(id, job) end
    local hands_on = row.key == 'hand_on'
    row, event = nil, {}
    if hands_on then id, job, row = hand_on_key(id, job.serial_key) end
  end
end
