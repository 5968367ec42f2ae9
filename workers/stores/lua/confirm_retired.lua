-- Confirms that a load balancer is still retiring and empty: asked after it was tagged, right before it is deleted.
-- KEYS[1] prefix of the pool.
-- ARGV server, name, ARN.
-- Returns {'NOT_READY'} | {'CHANGED'} | {'OK'}.
local server, lb, arn = unpack(ARGV)
if not ready(server) then return { 'NOT_READY' } end
local row = call('HMGET', LBS, 'j:' .. lb, 'r:' .. lb)
local mine = row[1] and row[2] and cjson.decode(row[1]).arn == arn
return { mine and use_of(lb) == 0 and 'OK' or 'CHANGED' }
