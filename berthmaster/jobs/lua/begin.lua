-- Begins a verification after Redis was new, lost, replaced or copied: no pod is known, no unfinished job counts, until runners report.
-- Asked twice: for the mark before pods are listed, then with the list. A list from before the latest loss does not show where jobs run.
-- KEYS[1] prefix of the pool.
-- ARGV server, mark that the list was made under ('': there is no list yet), uids JSON [uid, ...] of all pods that Kubernetes has.
-- Returns {'READY', mark} (nothing to verify) | {'OK', mark}: reports made for another mark are dropped, and so are lists: {'NOT_READY'}.
local server, listed, uids = unpack(ARGV)
if ready(server) then return { 'READY', call('HGET', META, 'mark') } end
if call('HGET', META, 'seen') ~= server then
  for _, class in ipairs(call('SMEMBERS', CLASSES)) do call('DEL', P .. 'free:' .. class) end
  for _, kinds in ipairs(call('SMEMBERS', SIGS)) do call('DEL', P .. 'wait:' .. kinds) end
  call('DEL', PODS, KEYED, SIGS, CLASSES, DUE, LATER, SENT, EXPECT, NAMES) -- of NAMES an older copy may have some that were used
  local flat = call('HGETALL', JOBS)
  for i = 1, #flat, 2 do
    local j = job_of(flat[i])
    if j then call('DEL', P .. 'blocked:' .. j.k) end
    if j and j.s ~= 'done' then
      j.s, j.u, j.x = 'unknown', nil, nil
      keep_job(flat[i], j)
    end
  end
  local t, old = call('TIME'), tonumber(call('HGET', META, 'mark') or 0)
  local mark = string.format('%.0f', math.max(old + 1, t[1] * 1000000 + t[2]))
  call('HDEL', META, 'inc')
  call('HSET', META, 'seen', server, 'mark', mark, 'asked', now_ms())
end
if listed == '' then return { 'OK', call('HGET', META, 'mark') } end
if listed ~= call('HGET', META, 'mark') then return { 'NOT_READY' } end
call('DEL', EXPECT)
for _, uid in ipairs(cjson.decode(uids)) do
  if not pod_of(uid) then call('SADD', EXPECT, uid) end
end
if call('SCARD', EXPECT) == 0 then call('HSET', META, 'inc', server) end
return { 'OK', call('HGET', META, 'mark') }
