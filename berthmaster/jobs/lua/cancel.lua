-- Cancels a job. What has started keeps slot and key until its runner says that it stopped.
-- KEYS[1] prefix of the pool.
-- ARGV server, id.
-- Returns {'NOT_READY'} | {'REFUSED'} (no such job) | {'OK', state, placed [JSON, ...]}.
local server, id = unpack(ARGV)
if not ready(server) then return { 'NOT_READY' } end
local j = job_of(id)
if not j then return { 'REFUSED' } end
if j.s == 'running' then
  j.s = 'cancelling'
  keep_job(id, j)
elseif j.s ~= 'done' and j.s ~= 'cancelling' then
  finish_job(id, j, 'cancelled')
  place(server)
end
return { 'OK', j.s, placed }
