-- A placed attempt could not be sent: a first phase waits again after a while, a later one keeps its reserved slot and is sent again.
-- KEYS[1] prefix of the pool.
-- ARGV server, id, attempt, ms to wait.
-- Returns {'NOT_READY'} | {'REFUSED'} | {'OK', times that it could not be sent, placed [JSON, ...]}.
local server, id, attempt, wait = unpack(ARGV)
if not ready(server) then return { 'NOT_READY' } end
local j = job_of(id)
if not j or j.s ~= 'placed' or j.a ~= attempt then return { 'REFUSED' } end
j.t = j.t + 1
if j.i > 1 then
  keep_job(id, j)
  call('ZADD', SENT, now_ms() + wait, id)
else
  requeue(id, j)
  dequeue(id, j)
  call('ZADD', LATER, now_ms() + wait, id)
  place(server)
end
return { 'OK', j.t, placed }
