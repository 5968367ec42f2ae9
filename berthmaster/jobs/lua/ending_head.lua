-- Sixth head: how a job leaves its slot, its serial key, and its life.
-- KEYS[1] as in names_head.
-- ARGV and returns: see each script.
local function leave_slot(j)
  local pod = j.u and pod_of(j.u)
  if pod and pod.s[j.x] and pod.s[j.x].a == j.a then set_slot(j.u, pod, j.x, false) end
  j.u, j.x = nil, nil
end

local requeue
local function pass_key(id, j) -- to the first in its line, also by who only waited for a slot; a confirmed job has its own
  local holder = call('HGET', KEYED, j.k)
  if holder and holder ~= id then return end
  call('HDEL', KEYED, j.k)
  local first = call('ZPOPMIN', P .. 'blocked:' .. j.k)[1]
  local next_job = first and job_of(first)
  if not next_job then return end
  if next_job.s ~= 'confirmed' then return enqueue(first, next_job) end
  if not (next_job.u and pod_of(next_job.u)) then return requeue(first, next_job) end
  call('HSET', KEYED, j.k, first)
  run_in(first, next_job, next_job.u, pod_of(next_job.u), next_job.x)
end

local function finish_job(id, j, outcome, result)
  dequeue(id, j)
  leave_slot(j)
  j.s, j.o, j.z = 'done', outcome, result
  keep_job(id, j)
  call('ZADD', ENDED, now_ms(), id)
  tell(id, j, outcome)
  pass_key(id, j)
end

local function conclude(id, j, outcome, result) -- what runs has ended: a further phase keeps the slot for a person's decision
  local pod = j.u and pod_of(j.u)
  if outcome ~= 'succeeded' or j.s ~= 'running' or not j.f[j.i + 1] or not (pod and pod.s[j.x]) then
    return finish_job(id, j, j.s == 'cancelling' and 'cancelled' or outcome, result)
  end
  set_slot(j.u, pod, j.x, { j = id, a = j.a, s = 'reserved', g = pod.s[j.x].g })
  j.s, j.l, j.z = 'reserved', j.a, result
  keep_job(id, j)
  call('ZADD', DUE, now_ms() + j.h, id)
  tell(id, j, 'reserved')
  pass_key(id, j)
end

requeue = function(id, j) -- from its first phase: what a plan saw is gone with its pod
  dequeue(id, j)
  leave_slot(j)
  j.s, j.i, j.l = 'waiting', 1, nil
  keep_job(id, j)
  pass_key(id, j)
  enqueue(id, j)
end

local function lose(id, j) -- its runner, or its pod, has it no more
  if j.s == 'cancelling' then finish_job(id, j, 'cancelled')
  elseif j.s == 'running' and (j.i > 1 or j.y == 'fail') or j.s == 'placed' and j.i > 1 then finish_job(id, j, 'lost')
  else requeue(id, j) end
end
