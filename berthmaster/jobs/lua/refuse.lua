-- Tells the sender of a submission why nobody takes the job in. Nothing else would ever delete the stream of a pool without a ledger.
-- KEYS[1] prefix of the pool.
-- ARGV server, id of the message, id of the job ('': the submission has none), why, ms for which a pool without a ledger keeps its stream.
-- Returns {'OK'}.
--- @include "lib/keys"
local _, message, id, why, lifetime = unpack(ARGV)
local has_ledger = redis.call('HEXISTS', META, 'seen') == 1
local about = id ~= '' and { 'job', id } or {}
redis.call('XADD', RESULTS, 'MAXLEN', '~', has_ledger and 10000 or 100, '*', 'state', 'refused', 'message', message,
  'result', why, unpack(about))
if has_ledger then
  redis.call('PERSIST', RESULTS) -- a worker of an earlier version may have begun the ledger
else
  redis.call('PEXPIRE', RESULTS, lifetime)
end
return { 'OK' }
