-- Takes a job in, once an id: said again, it answers with what has become of it. An unknown one of an older incarnation waits again.
-- KEYS[1] prefix of the pool.
-- ARGV server, id, job JSON {f, k, r, h, y, b}, ms after which it may be placed (0: at once).
-- Returns {'NOT_READY'} | {'OK', job JSON, placed [JSON, ...]}.
local server, id, json, wait = unpack(ARGV)
if not call('HGET', META, 'mark') then return { 'NOT_READY' } end
local j = job_of(id)
if not j or j.s == 'unknown' then
  local asked = cjson.decode(json)
  asked.s, asked.i, asked.a, asked.t, asked.q = 'waiting', 1, j and j.a or '', 0, call('HINCRBY', META, 'arrivals', 1)
  j = asked
  keep_job(id, j)
  if tonumber(wait) > 0 then call('ZADD', LATER, now_ms() + wait, id) else enqueue(id, j) end
  place(server)
end
return { 'OK', call('HGET', JOBS, id), placed }
