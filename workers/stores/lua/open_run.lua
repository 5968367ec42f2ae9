-- Begins a run on one name: raises the fence, and shows what every UID of the name holds.
-- KEYS[1] prefix of the pool.
-- ARGV server incarnation, name, token.
-- Returns {'NOT_READY'} (or the run began before the ledger was verified) | {'LOW'} (a newer run was here) | {'OK', incarnation,
--   epoch, state, config, entries JSON or '', 1 if it waits, keys of entries to compare with AWS, load balancers of the
--   entries: name, JSON, ...}.
--- @include "lib/keys"
--- @include "lib/stock_keys"
--- @include "lib/waiting_keys"
--- @include "lib/verified_under"
--- @include "lib/token_time"
--- @include "lib/entries_of"
--- @include "lib/split_key"
local server, name, token = unpack(ARGV)
local incarnation = verified_under(server)
if not incarnation then return { 'NOT_READY' } end
local fence = call('HGET', FENCES, name)
if fence and fence ~= token and token_time(fence) >= token_time(token) then return { 'LOW' } end
local meta = call('HMGET', META, 'epoch', 'state', 'config', 'floor', 'comparison', 'capped')
local epoch, state, config, floor, ever_compared = meta[1] or '0', meta[2] or '', meta[3] or '', meta[4] or 0, meta[5]
if token_time(token) < tonumber(floor) then return { 'NOT_READY' } end
call('HSET', FENCES, name, token)

local json, seen, balancers, due = call('HGET', OWNERS, name) or '', {}, {}, {}
for key in pairs(ever_compared and call('HLEN', COMPARE) > 0 and entries_of(name) or {}) do
  if call('HEXISTS', COMPARE, key) == 1 then due[#due + 1] = key end
end
for key in pairs(json ~= '' and cjson.decode(json) or {}) do
  local lb = split_key(key)
  local facts = not seen[lb] and call('HGET', LBS, 'facts:' .. lb)
  seen[lb] = true
  if facts then
    balancers[#balancers + 1] = lb
    balancers[#balancers + 1] = facts
  end
end
local waits = call('HEXISTS', DEMAND, name)
if (meta[6] or 0) + 0 > 0 and waits == 0 then waits = call('HEXISTS', CAP, name) end
return { 'OK', incarnation, epoch, state, config, json, waits, due, unpack(balancers) }
