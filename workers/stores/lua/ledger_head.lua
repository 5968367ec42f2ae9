-- Shared head of the ledger's scripts: names of the pool's keys, the gate, entries, and the use of a load balancer.
-- KEYS[1] is the pool's prefix with its hash tag, {pp:NAME}; every key is made from it, so that all are in one slot.
-- ARGV and returns: see each script. Entry: w want, u uid, s state, l listener, t target group, a target, k token.
local call, P = redis.call, KEYS[1]
local META, FENCES, OWNERS, LBS = P .. 'meta', P .. 'fences', P .. 'owners', P .. 'lbs'
local BITS, USED, CAP, SLOTS = P .. 'bits', P .. 'used', P .. 'cap', P .. 'slots'
local ORDER, ROOM = P .. 'order', P .. 'room'
local WAITING, WOKEN, DEMAND = P .. 'waiting', P .. 'woken', P .. 'demand'

local function ready(server, run) -- the incarnation, if the ledger was verified under this server and this run began under it
  local inc = call('HGET', META, 'inc')
  return inc and inc:sub(1, #server + 1) == server .. '/' and (run == '' or run == inc) and inc
end

local function now_us()
  local t = call('TIME')
  return t[1] * 1000000 + t[2]
end

local function number_of(tok) return tonumber(tok:match('^%d+')) end -- a token is microseconds and a nonce

local function refusal(server, run, name, tok)
  if not ready(server, run) then return 'NOT_READY' end
  if call('HGET', FENCES, name) ~= tok then return 'STALE' end
end

local function entries(name)
  local json = call('HGET', OWNERS, name)
  return json and cjson.decode(json) or {}
end

local function keep(name, held)
  if next(held) == nil then call('HDEL', OWNERS, name) else call('HSET', OWNERS, name, cjson.encode(held)) end
end

local function use(lb, ports) -- ports more (or fewer) are in use; the indexes of load balancers with room follow
  local used, cap = call('HINCRBY', USED, lb, ports), tonumber(call('HGET', CAP, lb))
  if not cap then return end
  call('HINCRBY', META, 'free', -ports)
  if used >= cap then
    call('ZREM', ORDER, lb); call('ZREM', ROOM, lb)
  else
    call('ZADD', ROOM, used, lb)
    if ports < 0 then call('ZADD', ORDER, cjson.decode(call('HGET', LBS, lb)).position, lb) end
  end
end

local function port_of(key) return key:match('^(.*):(%d+)$') end -- "lb:port"

local function carriers(held) -- the load balancers of these entries: name, JSON, name, JSON, ...
  local seen, flat = {}, {}
  for key in pairs(held) do
    local lb = port_of(key)
    if not seen[lb] then
      seen[lb], flat[#flat + 1] = true, lb
      flat[#flat + 1] = call('HGET', LBS, lb) or ''
    end
  end
  return flat
end
