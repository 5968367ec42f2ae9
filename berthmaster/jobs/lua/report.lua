-- A runner's heartbeat: everything that it holds. It is the truth about its attempts; what it leaves out is lost.
-- KEYS[1] prefix of the pool.
-- ARGV server, JSON {uid, pod (its name), layout [class, ...], mark that the report was made for, grants known to the runner,
--   asked [[job, attempt], ...] whose start may have been granted,
--   running [[job, attempt, phase, slot], ...], reserved [the same], ended [[job, attempt, phase, outcome, result], ...],
--   jobs {id: request} of all these (see lib/new_job), so that a job survives the loss of its record}.
-- Returns {'NOT_READY'} | {'AGAIN', mark} (made for another incarnation: report anew) | {'OK', mark, grants, view, attempts to stop
--   [attempt, ...], attempts whose outcome is known [attempt, ...], placed [JSON, ...]}.
--- @include "lib/keys"
--- @include "lib/now_ms"
--- @include "lib/jobs"
--- @include "lib/pods"
--- @include "lib/save_pod"
--- @include "lib/new_job"
--- @include "lib/is_older_attempt"
--- @include "lib/pod_reported"
--- @include "lib/transition"
--- @include "lib/messages"
--- @include "lib/apply"
--- @include "lib/end_attempt"
--- @include "lib/lose_job"
--- @include "lib/place"
local LOSE = {} --- @table "lose"
local UNLISTED = {} --- @table "unlisted"
local REPORT_RUNNING = {} --- @table "report_running"
local REPORT_RESERVED = {} --- @table "report_reserved"
local REPORT_END = {} --- @table "report_end"
local STOPPED = {} --- @table "stopped"

-- 1. A report for another incarnation says nothing about this one.
local server, json = unpack(ARGV)
local report, meta = cjson.decode(json), redis.call('HMGET', META, 'mark', 'seen', 'grants')
local mark, verified_server = meta[1], meta[2]
if not mark or verified_server ~= server then return { 'NOT_READY' } end
if report.mark ~= mark then return { 'AGAIN', mark } end

-- 2. The pod is there, and has the slots that its runner says.
local pod = load_pod(report.uid) or { name = report.pod, view = 'new', token = '', layout = {}, slots = {} }
if #pod.layout == 0 then -- new, or known by its claim only
  pod.layout = report.layout
  for number = 1, #pod.layout do pod.slots[number] = false end
  for _, class in ipairs(pod.layout) do redis.call('SADD', CLASSES, class) end
end
pod.reported_at = now_ms()
save_pod(report.uid, pod)

local function phase_number(job, phase)
  for number, name in ipairs(job.phases) do if name == phase then return number end end
end

local function reported_job(id) -- of a job that Redis has lost, what its runner still knows
  local job, request = load_job(id), report.jobs[id]
  if not job and request then return new_job(request, '') end
  return job
end

local function attempt_facts(job, attempt)
  return { same_attempt = job.attempt == attempt, later_attempt = is_older_attempt(job.attempt, attempt) }
end

local function free_for(id, number) -- a slot has one job: who has it by this report was placed there later
  local slot = load_pod(report.uid).slots[number]
  local other = slot and slot.job ~= id and load_job(slot.job)
  if other then lose_job(slot.job, other, LOSE) end
end

local function is_in_slot(item, rows)
  local id, attempt, phase, number = unpack(item)
  local job = reported_job(id)
  local event = { uid = report.uid, slot = number, attempt = attempt, phase_number = job and phase_number(job, phase) }
  local row = job and transition(job, rows, attempt_facts(job, attempt))
  if not (row and row.state and event.phase_number and pod.layout[number]) then return end
  free_for(id, number)
  apply(id, job, row, event)
end

local function has_ended(item)
  local id, attempt, phase, outcome, result = unpack(item)
  local job = reported_job(id)
  local number = job and phase_number(job, phase)
  if not number then return end
  local event = { attempt = attempt, phase_number = number, outcome = outcome, result = result }
  end_attempt(id, job, REPORT_END, attempt_facts(job, attempt), event)
end

-- 3. What the report says of each attempt. The ends come first: they free slots.
local acknowledged = {}
for _, item in ipairs(report.ended) do has_ended(item); acknowledged[#acknowledged + 1] = item[2] end
for _, item in ipairs(report.reserved) do is_in_slot(item, REPORT_RESERVED) end
for _, item in ipairs(report.running) do is_in_slot(item, REPORT_RUNNING) end

-- 4. What the runner must stop or forget.
local listed, stop = {}, {}
for _, item in ipairs(report.asked or {}) do listed[item[1] .. ' ' .. item[2]] = true end
for _, list in ipairs({ report.running, report.reserved, report.ended }) do
  for _, item in ipairs(list) do
    local id, attempt = item[1], item[2]
    local job = load_job(id)
    listed[id .. ' ' .. attempt] = true
    if job and (job.attempt ~= attempt or STOPPED[job.state]) then stop[#stop + 1] = attempt end
  end
end

-- 5. What the report leaves out, although the runner knew of the start when it made the report, is lost.
for _, slot in ipairs(load_pod(report.uid).slots) do
  local job = slot and load_job(slot.job)
  if job and not listed[slot.job .. ' ' .. slot.attempt] and slot.grant <= report.grants then
    lose_job(slot.job, job, UNLISTED)
  end
end
pod_reported(server, report.uid)
place(server)
local grants = tonumber(redis.call('HGET', META, 'grants') or 0)
return { 'OK', mark, grants, load_pod(report.uid).view, stop, acknowledged, placed }
