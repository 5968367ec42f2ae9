-- Takes a job in, once an id: said again, it answers with what has become of it. An unknown one of an older incarnation waits again.
-- KEYS[1] prefix of the pool.
-- ARGV server, id, request JSON {phases, serial_key, priority, hold_ms, when_lost, body}, ms after which it may be placed (0: at once).
-- Returns {'NOT_READY'} | {'OK', job JSON, placed [JSON, ...]}.
--- @include "lib/keys"
--- @include "lib/jobs"
--- @include "lib/new_job"
--- @include "lib/transition"
--- @include "lib/messages"
--- @include "lib/apply"
--- @include "lib/place"
local SUBMIT = {} --- @table "submit"
local server, id, json, wait = unpack(ARGV)
if not redis.call('HGET', META, 'mark') then return { 'NOT_READY' } end
local existing = load_job(id)
local facts = { delayed = tonumber(wait) > 0 }
local row = transition(existing or { state = 'unknown' }, SUBMIT, facts)
if row then
  apply(id, new_job(cjson.decode(json), existing and existing.attempt or ''), row, { wait = tonumber(wait) })
  place(server)
end
return { 'OK', redis.call('HGET', JOBS, id), placed }
