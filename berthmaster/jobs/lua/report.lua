-- A runner's heartbeat: everything that it holds. It is the truth about its attempts; what it leaves out is lost.
-- KEYS[1] prefix of the pool.
-- ARGV server, JSON {uid, pod (its name), layout [class, ...], mark that the report was made for, grants known to the runner,
--   asked [[job, attempt], ...] whose start may have been granted,
--   running [[job, attempt, phase, slot], ...], reserved [the same], ended [[job, attempt, phase, outcome, result], ...],
--   jobs {id: request} of all these (see lib/new_job), so that a job survives the loss of its record,
--   ran {attempt: ms} of those running whose time is limited; older runners leave it out,
--   version (of the runner, at most 50 characters, for people; older runners leave it out)}.
-- Returns {'NOT_READY'} | {'AGAIN', mark} (made for another incarnation, or without the request of a job that has no record: report
--   anew, with all requests) | {'OK', mark, grants, view, attempts to stop
--   [attempt, ...], attempts whose outcome is known [attempt, ...], placed [JSON, ...]}.
--- @include "lib/keys"
--- @include "lib/value_types"
--- @include "lib/noted_ms"
--- @include "lib/jobs"
--- @include "lib/pods"
--- @include "lib/save_pod"
--- @include "lib/new_job"
--- @include "lib/jobs_on"
--- @include "lib/key_holders"
--- @include "lib/lines"
--- @include "lib/is_older_attempt"
--- @include "lib/pod_reported"
--- @include "lib/transition"
--- @include "lib/messages"
--- @include "lib/apply"
--- @include "lib/end_attempt"
--- @include "lib/lose_job"
--- @include "lib/advance_key_line"
--- @include "lib/place"
local LOSE = {} --- @table "lose"
local UNLISTED = {} --- @table "unlisted"
local REPORT_RUNNING = {} --- @table "report_running"
local REPORT_RESERVED = {} --- @table "report_reserved"
local REPORT_END = {} --- @table "report_end"
local STOPPED = {} --- @table "stopped"
local IN_SLOT = {} --- @table "in_slot"

-- 1. A report for another incarnation says nothing about this one.
local server, json = unpack(ARGV)
local report, meta = cjson.decode(json), redis.call('HMGET', META, 'mark', 'seen', 'grants')
local mark, verified_server = meta[1], meta[2]
if not mark or verified_server ~= server then return { 'NOT_READY' } end
if report.mark ~= mark then return { 'AGAIN', mark } end

-- 2. The pod is there, and has the slots that its runner says. A class that is new may free jobs of their serial key. If the record
-- of the pod was lost, the jobs that name the pod get their slots back. These slots count as granted now: this report may be older
-- than the grant, so that only a later one can say that the runner does not know of it.
local function slots_of_jobs(layout, grant)
  local slots = {}
  for number = 1, #layout do slots[number] = false end
  for _, id in ipairs(jobs_on(report.uid)) do
    local job = load_job(id)
    local state = job and job.uid == report.uid and slots[job.slot] == false and IN_SLOT[job.state]
    if state then slots[job.slot] = { job = id, attempt = job.attempt, state = state, grant = grant } end
  end
  return slots
end

local pod = load_pod(report.uid) or { name = report.pod, view = 'new', token = '', layout = {}, slots = {} }
local has_new_class = false
if #pod.layout == 0 then -- new, or known by its claim only
  pod.layout = report.layout
  pod.slots = slots_of_jobs(pod.layout, tonumber(meta[3] or 0))
  for _, class in ipairs(pod.layout) do has_new_class = redis.call('SADD', CLASSES, class) == 1 or has_new_class end
end
pod.reported_at = noted_ms()
pod.version = is_text(report.version) and #report.version <= 50 and report.version or nil
save_pod(report.uid, pod)
if has_new_class then
  for _, key in ipairs(redis.call('SMEMBERS', LINES)) do advance_key_line(key) end
end

-- 3. What has no record is reported with its request: then the report restores the record.
for _, list in ipairs({ report.running, report.reserved, report.ended }) do
  for _, item in ipairs(list) do
    local id = item[1]
    if not report.jobs[id] and not load_job(id) then return { 'AGAIN', mark } end
  end
end

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

local function restore_slot(id, job, number, state) -- the record of the pod was lost, the job's was not
  local known = load_pod(report.uid)
  if job.uid == report.uid and job.slot == number and known.slots[number] == false then
    set_slot(report.uid, known, number, { job = id, attempt = job.attempt, state = state, grant = 0 })
  end
end

local function keep_key(id, job) -- who runs has its key again, if somebody has deleted that
  if not (KEY_HOLDERS[job.state] and needs_key(job)) then return end
  take_key(id, job)
  if redis.call('HGET', KEYED, job.serial_key) ~= id then redis.call('SADD', BESIDE, id) end
end

local function is_in_slot(item, rows, state)
  local id, attempt, phase, number = unpack(item)
  local job = reported_job(id)
  local event = { uid = report.uid, slot = number, attempt = attempt, phase_number = job and phase_number(job, phase) }
  event.ran = (report.ran or {})[attempt]
  local row = job and transition(job, rows, attempt_facts(job, attempt))
  if job and not row and job.attempt == attempt then
    keep_key(id, job)
    return restore_slot(id, job, number, state)
  end
  if not (row and row.state and event.phase_number and pod.layout[number]) then return end
  free_for(id, number)
  apply(id, job, row, event)
  keep_key(id, job)
end

local function has_ended(item)
  local id, attempt, phase, outcome, result = unpack(item)
  local job = reported_job(id)
  local number = job and phase_number(job, phase)
  if not number then return end
  local event = { attempt = attempt, phase_number = number, outcome = outcome, result = result }
  end_attempt(id, job, REPORT_END, attempt_facts(job, attempt), event)
end

-- 4. What the report says of each attempt. The ends come first: they free slots.
local acknowledged = {}
for _, item in ipairs(report.ended) do has_ended(item); acknowledged[#acknowledged + 1] = item[2] end
for _, item in ipairs(report.reserved) do is_in_slot(item, REPORT_RESERVED, 'reserved') end
for _, item in ipairs(report.running) do is_in_slot(item, REPORT_RUNNING, 'running') end

-- 5. What the runner must stop or forget.
local stop = {}
for _, list in ipairs({ report.running, report.reserved, report.ended }) do
  for _, item in ipairs(list) do
    local id, attempt = item[1], item[2]
    local job = load_job(id)
    if job and (job.attempt ~= attempt or STOPPED[job.state]) then stop[#stop + 1] = attempt end
  end
end

local in_use, over = {}, {}
for _, list in ipairs({ report.asked or {}, report.running, report.reserved }) do
  for _, item in ipairs(list) do in_use[item[1] .. ' ' .. item[2]] = true end
end
for _, item in ipairs(report.ended) do over[item[1] .. ' ' .. item[2]] = true end

-- 6. What the report leaves out, although the runner knew of the start when it made the report, is lost. A slot whose attempt is no
-- job's any more is idle once the attempt is over.
for number, slot in ipairs(load_pod(report.uid).slots) do
  if slot and slot.grant <= report.grants then
    local job, name = load_job(slot.job), slot.job .. ' ' .. slot.attempt
    local is_its_own = job and job.attempt == slot.attempt and job.uid == report.uid and job.slot == number
    if is_its_own and not in_use[name] and not over[name] then
      lose_job(slot.job, job, UNLISTED)
    elseif not is_its_own and not in_use[name] then
      set_slot(report.uid, load_pod(report.uid), number, false)
    end
  end
end
pod_reported(server, report.uid)
place(server)
local grants = tonumber(redis.call('HGET', META, 'grants') or 0)
return { 'OK', mark, grants, load_pod(report.uid).view, stop, acknowledged, placed }
