-- A person confirms the plan of an attempt: the next phase runs in the slot that was kept, at once or when its serial key is free.
-- KEYS[1] prefix of the pool.
-- ARGV server, id, attempt of the plan that was seen.
-- Returns {'NOT_READY'} | {'REFUSED', state} | {'OK', state, placed [JSON, ...]}. Said again it answers OK.
local server, id, plan = unpack(ARGV)
if not ready(server) then return { 'NOT_READY' } end
local j = job_of(id)
if not j or j.l ~= plan then return { 'REFUSED', j and j.s or 'unknown' } end
local over = j.s == 'unknown' or (j.s == 'done' and j.o ~= 'succeeded')
if j.s ~= 'reserved' then return { over and 'REFUSED' or 'OK', j.s, placed } end
call('ZREM', DUE, id)
j.s, j.i = 'confirmed', j.i + 1
keep_job(id, j)
local pod = j.u and pod_of(j.u)
if not pod or not pod.s[j.x] then finish_job(id, j, 'lost')
elseif has_key(id, j) then run_in(id, j, j.u, pod, j.x) end
place(server)
return { 'OK', job_of(id).s, placed }
