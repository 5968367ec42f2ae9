-- Makes an idle load balancer of ours retiring: it gives no ports any more and will be removed. Never taken back.
-- KEYS[1] prefix of the pool.
-- ARGV server, name, ARN, milliseconds that it must have been empty.
-- Returns {'NOT_READY'} | {'KEPT'} (in use, not ours, not idle for long, or somebody waits for its ports) | {'OK'}.
--- @include "lib/keys"
--- @include "lib/stock_keys"
--- @include "lib/verified_under"
--- @include "lib/use_of"
--- @include "lib/now_us"
--- @include "lib/reindex"
local server, lb, arn, delay = unpack(ARGV)
if not verified_under(server) then return { 'NOT_READY' } end
local row = call('HMGET', LBS, 'facts:' .. lb, 'retiring:' .. lb, 'empty:' .. lb)
local meta = call('HMGET', META, 'state', 'demand')
local used, capacity = use_of(lb)
local facts, retiring, empty_since = row[1] and cjson.decode(row[1]), row[2], row[3] or now_us()
if not facts or facts.arn ~= arn or facts.slot < 0 or retiring or used > 0 then return { 'KEPT' } end
if next(facts.foreign) or next(facts.contested) then return { 'KEPT' } end
if now_us() / 1000 - empty_since < delay + 0 then return { 'KEPT' } end
local state, demand = meta[1], tonumber(meta[2] or 0)
if state ~= 'Active' or (capacity and demand > 0) then return { 'KEPT' } end
call('HSET', LBS, 'retiring:' .. lb, 1)
call('HDEL', LBS, 'capacity:' .. lb)
call('HDEL', COMING, lb)
reindex(lb, 0, capacity, 0, nil)
return { 'OK' }
