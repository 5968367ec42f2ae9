-- A runner appends lines to the log of an attempt: once, however often it says them. The oldest lines of the attempt go beyond its
-- bound, and the logs of jobs that were written least recently beyond the bound of the pool. The lines of this call stay.
-- KEYS[1] prefix of the pool.
-- ARGV server, id, attempt, phase, number of the first line, number of the last line, lines (joined by newline), 1 if the attempt
--   has ended ('' before), most bytes of a log (without LOG_COST), most bytes of all logs of the pool.
-- Returns {'GONE'} (the job has no record, so that nothing would ever delete its log) | {'OK'}.
--- @include "lib/keys"
--- @include "lib/now_ms"
--- @include "lib/logs"
local _, id, attempt, phase, first, last, text, ended, most, most_of_pool = unpack(ARGV)
local MOST_LOGS = 10 -- of a job
local MOST_DROPPED = 100 -- jobs whose logs one call drops, as it holds Redis up; the next call goes on
local LOG_COST = 4608 -- bytes that a log counts beside its entries: Redis gives each stream 4 KiB at once
local ENTRY_COST = 64 -- bytes that an entry counts beside its text
local key = log_key(attempt)
if redis.call('HEXISTS', JOBS, id) == 0 then return { 'GONE' } end

local logs = load_logs(id)
local function log_of_attempt()
  for _, log in ipairs(logs) do if log.attempt == attempt then return log end end
  if #logs >= MOST_LOGS then forget_log(table.remove(logs, 1)) end
  logs[#logs + 1] = { attempt = attempt, phase = phase, bytes = 0, last = 0 }
  return logs[#logs]
end

local function drop_oldest_lines(bytes, newest)
  while bytes > tonumber(most) + LOG_COST do
    local oldest = redis.call('XRANGE', key, '-', '+', 'COUNT', 1)[1]
    if oldest[1] == newest then return LOG_COST + ENTRY_COST + #text end
    redis.call('XDEL', key, oldest[1])
    bytes = bytes - ENTRY_COST - #(oldest[2][4] or '')
  end
  return bytes
end

local function drop_logs_of_others()
  for _ = 1, MOST_DROPPED do
    if tonumber(redis.call('HGET', META, 'log_bytes')) <= tonumber(most_of_pool) then break end
    local oldest, second = unpack(redis.call('ZRANGE', LOGGED, 0, 1))
    local other = oldest ~= id and oldest or second
    if not other then break end
    forget_logs(other)
  end
end

local log = log_of_attempt()
if log.ended or (tonumber(last) <= log.last and ended == '') then return { 'OK' } end -- said again
local newest = redis.call('XADD', key, '*', 'first', first, 'text', text, 'last', last, 'ended', ended)
local bytes = drop_oldest_lines(math.max(log.bytes, LOG_COST) + ENTRY_COST + #text, newest)
redis.call('HINCRBY', META, 'log_bytes', bytes - log.bytes)
log.bytes, log.last, log.ended = bytes, tonumber(last), ended ~= '' or nil
redis.call('HSET', LOGS, id, cjson.encode(logs))
redis.call('ZADD', LOGGED, now_ms(), id)
drop_logs_of_others()
return { 'OK' }
