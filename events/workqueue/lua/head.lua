--[[ Put before every script of the queue.

KEYS, one shard under one hash tag:
  1 snap    hash   key -> <history, 6 digits>.<version, 20 digits><L|G><uid>|<body>
  2 dirty   hash   key -> generation of its last mark; if only marks have come since it was N: <generation>@N@<version>
  3 hold    hash   key -> token of its holder
  4 queued  zset   key, when its hint was sent (ms)
  5 timer   zset   key, when its lease ends or its wait is over (ms); a key is in at most one of queued and timer
  6 meta    hash   epoch, run (incarnation of the last complete list), gen, tok, history (6 digits), cluster and system (of
                   the fleet whose Redis this is), noted (ms, TIME of the last sweep or after it)
  7 tries   hash   key -> attempts
  8 pools   hash   key -> JSON list of pools where its name may hold ports
  9 sweep   string when the outstanding sweep for lost hints was sent (ms)
 10 hints   list   optional: the broker's queue, if it is here; else the caller publishes
Times are the server's. Versions are compared within one history of the API only, as the text <history>.<version>.
]]
local snap, dirty, hold, queued, timer, meta, tries, pools, sweep, hints = unpack(KEYS)

local function now()
  local t = redis.call('TIME')
  return t[1] * 1000 + math.floor(t[2] / 1000)
end

-- A time of the timer. TIME is noted when it is far ahead of the last sweep: one that goes back is known by the note.
local function after(ms)
  local time = now()
  if time > tonumber(redis.call('HGET', meta, 'noted') or 0) + 2000 then redis.call('HSET', meta, 'noted', time) end
  return time + ms
end

local function enqueue(k, message)
  redis.call('ZADD', queued, now(), k)
  if hints and message then redis.call('LPUSH', hints, message) end
end

-- Marks the key dirty. 1 = it was in nobody's hand and is queued now, 0 = whoever has it will see the new generation.
local function touch(k, message)
  redis.call('HSET', dirty, k, redis.call('HINCRBY', meta, 'gen', 1))
  if redis.call('HEXISTS', hold, k) == 1 or redis.call('ZSCORE', queued, k) then return 0 end
  redis.call('ZREM', timer, k)
  enqueue(k, message)
  return 1
end

local function remember_pools(k, list)
  if list == '[]' then redis.call('HDEL', pools, k)
  elseif list ~= '' then redis.call('HSET', pools, k, list) end
end

-- Adds pools to those remembered: whoever asks for a look at a pool must not undo what a run has recorded, nor it this.
local function add_pools(k, list)
  if list == '' or list == '[]' then return end
  local known, all = {}, cjson.decode(redis.call('HGET', pools, k) or '[]')
  for _, name in ipairs(all) do known[name] = true end
  for _, name in ipairs(cjson.decode(list)) do
    if not known[name] then all[#all + 1] = name end
  end
  redis.call('HSET', pools, k, cjson.encode(all))
end

