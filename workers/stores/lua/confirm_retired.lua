-- Confirms that a load balancer is still retiring and empty: asked after it was tagged, right before it is deleted.
-- KEYS[1] prefix of the pool.
-- ARGV server, name, ARN.
-- Returns {'NOT_READY'} | {'CHANGED'} | {'OK'}.
--- @include "lib/keys"
--- @include "lib/verified_under"
--- @include "lib/use_of"
local server, lb, arn = unpack(ARGV)
if not verified_under(server) then return { 'NOT_READY' } end
local row = call('HMGET', LBS, 'facts:' .. lb, 'retiring:' .. lb)
local facts, retiring = row[1] and cjson.decode(row[1]), row[2]
return { facts and retiring and facts.arn == arn and use_of(lb) == 0 and 'OK' or 'CHANGED' }
