-- Makes an idle load balancer of ours retiring: it gives no ports any more and will be removed. Never taken back.
-- KEYS[1] prefix of the pool.
-- ARGV server, name, ARN, milliseconds that it must have been empty.
-- Returns {'NOT_READY'} | {'KEPT'} (in use, not ours, not idle for long, or somebody waits for its ports) | {'OK'}.
local server, lb, arn, delay = unpack(ARGV)
if not ready(server) then return { 'NOT_READY' } end
local row, m = call('HMGET', LBS, 'j:' .. lb, 'r:' .. lb, 'e:' .. lb), call('HMGET', META, 'state', 'demand')
local used, most = use_of(lb)
local facts = row[1] and cjson.decode(row[1])
if not facts or facts.arn ~= arn or facts.slot < 0 or row[2] or used > 0 then return { 'KEPT' } end
if next(facts.foreign) or next(facts.contested) then return { 'KEPT' } end
if now_us() / 1000 - (row[3] or now_us()) < delay + 0 then return { 'KEPT' } end
if m[1] ~= 'Active' or (most and tonumber(m[2] or 0) > 0) then return { 'KEPT' } end
call('HSET', LBS, 'r:' .. lb, 1)
call('HDEL', LBS, 'c:' .. lb)
call('HDEL', COMING, lb)
reindex(lb, 0, most, 0, nil)
return { 'OK' }
