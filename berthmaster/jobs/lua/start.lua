-- A runner asks to start an attempt: granted once. Said again, it is refused: what started and is not heard of is found by its absence.
-- KEYS[1] prefix of the pool.
-- ARGV server, id, phase, attempt, uid of the pod.
-- Returns {'NOT_READY'} | {'REFUSED'} | {'OK', number of the slot, attempt of its plan or ''}.
local server, id, phase, attempt, uid = unpack(ARGV)
if not ready(server) then return { 'NOT_READY' } end
local j, pod = job_of(id), pod_of(uid)
local mine = j and j.s == 'placed' and j.a == attempt and j.f[j.i] == phase and j.u == uid
if not (mine and pod and pod.s[j.x]) then return { 'REFUSED' } end
j.s = 'running'
keep_job(id, j)
call('ZREM', SENT, id)
pod.s[j.x].g = call('HINCRBY', META, 'grants', 1)
keep_pod(uid, pod)
return { 'OK', j.x, j.l or '' }
