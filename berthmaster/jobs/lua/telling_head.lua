-- Eighth head, of `report`: what a runner's whole list says about its jobs.
-- KEYS[1] as in names_head.
-- ARGV and returns: see report.lua. What is told is the truth about its attempt, unless the record knows a later one.
local function believed(j, attempt)
  if not j or j.s == 'done' then return false end
  return j.s == 'unknown' or j.s == 'waiting' or j.a == attempt or older(j.a, attempt)
end

local function phase_number(j, phase)
  for i, each in ipairs(j.f) do if each == phase then return i end end
end

local function settle(uid, x, id, j, item, state) -- it is in that slot of that pod, running or reserved
  local was = pod_of(uid).s[x]
  if was and was.j ~= id and job_of(was.j) then lose(was.j, job_of(was.j)) end -- a slot has one job: who has it now was told later
  local pod = pod_of(uid)
  local cancelled = j.s == 'cancelling' and j.a == item[2]
  dequeue(id, j)
  if j.u and not (j.u == uid and j.x == x) then leave_slot(j) end
  j.s, j.a, j.i, j.u, j.x = cancelled and 'cancelling' or state, item[2], phase_number(j, item[3]), uid, x
  if state == 'reserved' then
    j.l = item[2]
    call('ZADD', DUE, now_ms() + j.h, id)
  elseif exclusive(j) and call('HGET', KEYED, j.k) == false then
    call('HSET', KEYED, j.k, id)
  end
  keep_job(id, j)
  set_slot(uid, pod, x, { j = id, a = item[2], s = state, g = pod.s[x] and pod.s[x].g or 0 })
end

local function known(r, id) -- the record; of a job that Redis has lost, what its runner still knows
  local j, asked = job_of(id), r.jobs[id]
  if j or not asked then return j end
  asked.s, asked.i, asked.a, asked.t, asked.q = 'unknown', 1, '', 0, call('HINCRBY', META, 'arrivals', 1)
  return asked
end

local function told(r, item, state) -- item[4]: number of the slot that the runner keeps it in
  local j, pod = known(r, item[1]), pod_of(r.u)
  if not (j and believed(j, item[2]) and phase_number(j, item[3]) and pod.l[item[4]]) then return end
  local same = j.a == item[2] and j.s ~= 'placed' and j.s ~= 'unknown' and j.s ~= 'waiting'
  if not same then settle(r.u, item[4], item[1], j, item, state) end
end

local function ended(r, item)
  local j = known(r, item[1])
  local i = j and believed(j, item[2]) and phase_number(j, item[3])
  if not i then return end
  if j.a == item[2] and (j.s == 'running' or j.s == 'cancelling') then return conclude(item[1], j, item[4], item[5]) end
  if item[4] == 'succeeded' and j.f[i + 1] then return end -- it is among what the runner holds, or has gone on
  j.a, j.i = item[2], i
  finish_job(item[1], j, item[4], item[5])
end

local function missing(pod, listed, grants) -- jobs that this runner should have and does not list
  for _, slot in ipairs(pod.s) do
    local j = slot and job_of(slot.j)
    if j and j.s ~= 'placed' and not listed[slot.j .. ' ' .. slot.a] and slot.g <= grants then lose(slot.j, j) end
  end
end
