-- A runner's heartbeat: everything that it holds. It is the truth about its attempts; what it leaves out is lost.
-- KEYS[1] prefix of the pool.
-- ARGV server, JSON {u uid, n pod, l [class, ...], m mark that it was made for, g grants known to it,
--   asks [[job, attempt], ...] whose start may have been granted,
--   run [[job, attempt, phase, slot], ...], held [same, reserved], outs [[job, attempt, phase, outcome, result], ...],
--   jobs {id: {f, k, r, h, y, b}} of all these, so that a job survives the loss of its record}.
-- Returns {'NOT_READY'} | {'AGAIN', mark} (made for another incarnation: report anew) | {'OK', mark, grants, view, cancelled attempts
--   [attempt, ...], attempts whose outcome is known [attempt, ...], placed [JSON, ...]}.
local server, json = unpack(ARGV)
local r, m = cjson.decode(json), call('HMGET', META, 'mark', 'seen', 'grants')
if not m[1] or m[2] ~= server then return { 'NOT_READY' } end
if r.m ~= m[1] then return { 'AGAIN', m[1] } end
local pod = pod_of(r.u)
pod = pod or { n = r.n, v = 'new', k = '', l = {}, s = {} }
if #pod.l == 0 then -- new, or known by its claim only
  pod.l = r.l
  for x = 1, #r.l do pod.s[x] = false end
  for _, class in ipairs(r.l) do call('SADD', CLASSES, class) end
end
pod.t = now_ms()
keep_pod(r.u, pod)
local listed, cancels, acks = {}, {}, {}
for _, item in ipairs(r.asks or {}) do listed[item[1] .. ' ' .. item[2]] = true end
for _, item in ipairs(r.outs) do ended(r, item); acks[#acks + 1] = item[2] end
for _, item in ipairs(r.held) do told(r, item, 'reserved') end
for _, item in ipairs(r.run) do told(r, item, 'running') end
for _, list in ipairs({ r.run, r.held, r.outs }) do
  for _, item in ipairs(list) do
    local j = job_of(item[1])
    listed[item[1] .. ' ' .. item[2]] = true
    if j and (j.a ~= item[2] or j.s == 'cancelling' or j.s == 'done') then cancels[#cancels + 1] = item[2] end
  end
end
missing(pod_of(r.u), listed, r.g)
if call('SREM', EXPECT, r.u) == 1 and call('SCARD', EXPECT) == 0 then call('HSET', META, 'inc', server) end
place(server)
return { 'OK', m[1], tonumber(call('HGET', META, 'grants') or 0), pod_of(r.u).v, cancels, acks, placed }
