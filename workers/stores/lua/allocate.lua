--[[ Gives an owner a free port for every want, or nothing: then it joins the waiting list. A retry gets the same answer.
KEYS[1] prefix of the pool
ARGV  server, JSON [mark of the run's incarnation, name, token, uid, [index to take load balancers from (order, room),
      whether from its end, whether a random one goes first],
      [key, ...] single ports, and, if there are ranges, [[key, ports], ...] and the step: a range begins at a multiple of it;
      in a pool of precreated listeners all are ranges, [key, ports, kind]; last, the port where it must begin, if it must]:
      one argument, for packing many costs the client more than all of this. uid, token and keys have no character that JSON
      escapes; optional 'trial': look for places and change nothing, whatever the token
Returns of a trial {'NOT_READY'} | {'CLOSED'} | {'QUOTA'} | {'FULL'} | {'FITS', JSON {key of an entry: entry}}; else
  {'NOT_READY'} | {'STALE'} | {'CLOSED'} | {'TAKEN'} (that port; it does not wait) | {'FULL', epoch, woken names, entry of its
  failure (lib/begin_wait.lua), load balancers of ours} | {'QUOTA', most of a namespace, what it has, woken names, entry of its
  failure} (no demand) | JSON {"entries": ..., "lbs": {name: facts}, "woken": [names]}: one string, for the same reason.
It has few functions, and calls as few: to make or to call one costs more than what most of them would do. What it writes and
answers is joined from text: to encode it takes longer than all the rest.
]]
--- @include "lib/keys"
--- @include "lib/next_free_ports"
--- @include "lib/next_free_range"
--- @include "lib/take_range"
local server, request, trial = ARGV[1], cjson.decode(ARGV[2]), ARGV[3]
local mark, name, token, uid, order, singles, ranges, step, exact_port = unpack(request)

-- 1. The gate.
local meta = call('HMGET', META, 'incarnation', 'state', 'start', 'size', 'free', 'waiters', 'share', 'capped')
if meta[1] ~= server .. '/' .. mark then return { 'NOT_READY' } end
if not trial and call('HGET', FENCES, name) ~= token then return { 'STALE' } end
if meta[2] ~= 'Active' then return { 'CLOSED' } end
local start, size, free, share = meta[3] + 0, meta[4] + 0, meta[5] + 0, meta[7]
local waiters, capped = (meta[6] or 0) + 0, (meta[8] or 0) + 0

-- 2. What the owner lacks: what it holds it is not given again.
local json, entries = call('HGET', OWNERS, name), nil
if json then
  local ports_at, most_in_row, wanted_ports = {}, {}, {} -- most_in_row: of each want, the most ports that lie as they should
  for _, range in ipairs(ranges or {}) do wanted_ports[range[1]] = range[2] end
  entries = cjson.decode(json)
  for key, entry in pairs(entries) do
    local wants = type(entry.want) == 'table' and entry.want or { entry.want }
    for n, want in ipairs(entry.uid == uid and entry.state ~= 'releasing' and wants or {}) do
      local range_key, nth = want:match('^(.*)%+(%d+)$')
      local lb, port = key:match('^(.*):(%d+)$')
      local want_key = range_key or want
      local place = want_key .. '@' .. lb .. ':' .. port + n - 1 - (nth or 0) -- where the want would begin
      local of_a_longer_one = range_key and nth + 0 >= (wanted_ports[range_key] or 0)
      if not of_a_longer_one then ports_at[place] = (ports_at[place] or 0) + 1 end
      most_in_row[want_key] = math.max(most_in_row[want_key] or 0, ports_at[place] or 0)
    end
  end
  local lacking_singles, lacking_ranges = {}, {}
  for _, key in ipairs(singles) do
    if not most_in_row[key] then lacking_singles[#lacking_singles + 1] = key end
  end
  for _, range in ipairs(ranges or {}) do
    if (most_in_row[range[1]] or 0) < range[2] then lacking_ranges[#lacking_ranges + 1] = range end
  end
  singles, ranges = lacking_singles, lacking_ranges
end
local lacking, kinds = #singles, {} -- kinds: how many of each kind of precreated listeners
for _, range in ipairs(ranges or {}) do
  lacking = lacking + range[2]
  for kind = 1, range[3] and 3 or 0 do kinds[kind] = (kinds[kind] or 0) + (kind == range[3] and range[2] or 0) end
end

-- 3. Whether the namespace may have so many ports more; `charged`: what its pods hold and wait for, without this one's waiting.
local namespace, charged, over_share = name:match('^[^/]*'), nil, false
if share and lacking > 0 then
  local waits_for = tonumber(waiters > 0 and (call('HGET', DEMAND, name) or ''):match('^%d+') or 0)
  charged = (call('HGET', NAMESPACES, namespace) or 0) - waits_for
  over_share = charged + lacking > share + 0
end

-- 4. A place for every want: first fit in the order that was asked for. A full pool is not looked at.
local loaded, rank, index, descending, random_first = {}, 0, PREFIX .. order[1], order[2], order[3]
local function balancer_at(n) -- the n-th to try, or nil; read as they are needed, and a full one is in no index
  while not loaded[n] do
    local page
    if random_first then
      page, random_first = { call('ZRANDMEMBER', index) or nil }, false
    else
      page = call(descending and 'ZREVRANGE' or 'ZRANGE', index, rank, rank + #loaded)
      rank = rank + #page
    end
    if not page[1] then return nil end
    for _, lb in ipairs(page) do
      if not loaded[lb] then
        local row = call('HMGET', LBS, 'used:' .. lb, 'capacity:' .. lb, 'taken:' .. lb, 'facts:' .. lb)
        local used = (row[1] or 0) + 0
        local balancer = {
          lb = lb, used_before = used, used = used, capacity = row[2] + 0, bits = row[3] or '', facts = row[4],
        }
        loaded[lb], loaded[#loaded + 1] = balancer, balancer
      end
    end
  end
  return loaded[n]
end

local added, common_fields = {}, ',"uid":"' .. uid .. '","state":"allocated","token":"' .. token .. '"}'
local function place(balancer, offset, keys, from, to) -- the wants from .. to of keys, on ports that follow each other
  local want = from == to and '"' .. keys[from] .. '"' or '["' .. table.concat(keys, '","', from, to) .. '"]'
  added[#added + 1] = '"' .. balancer.lb .. ':' .. start + offset .. '":{"want":' .. want .. common_fields
  balancer.bits, balancer.used = take_range(balancer.bits, offset, to - from + 1), balancer.used + to - from + 1
end

local complete = lacking <= free and not over_share
for n = 1, complete and ranges and #ranges or 0 do
  local key, ports, kind = unpack(ranges[n])
  local first, last = 0, size -- offsets: it begins at first or after it, and ends before last
  for count in (kind and call('HGET', META, 'precreated') or ''):gmatch('%d+') do
    if kind == 1 then last = first + count elseif kind > 1 then first = first + count end
    kind = kind - 1
  end
  if exact_port then first, last = exact_port - start, exact_port - start + ports end
  local keys = {}
  for port = 1, ports do keys[port] = ports > 1 and key .. '+' .. port - 1 or key end
  local tried, balancer, offset = 0
  repeat
    tried = tried + 1
    balancer = balancer_at(tried)
    local room = balancer and balancer.capacity - balancer.used >= ports
    offset = room and next_free_range(balancer.bits, ports, first, last, step)
  until offset or not balancer
  complete = balancer ~= nil
  if not complete then break end
  place(balancer, offset, keys, 1, ports)
end
local next_single, tried = 1, 1
while complete and next_single <= #singles do
  local balancer, from = balancer_at(tried), 0
  local room = balancer and math.min(balancer.capacity - balancer.used, #singles - next_single + 1) or 0
  while room > 0 do
    local offset, ports = next_free_ports(balancer.bits, from, room, size)
    if ports < 1 then break end
    place(balancer, offset, singles, next_single, next_single + ports - 1)
    next_single, room, from = next_single + ports, room - ports, offset + ports
  end
  complete, tried = balancer ~= nil, tried + 1
end

if trial and complete then return { 'FITS', '{' .. table.concat(added, ',') .. '}' } end
if trial then return { over_share and 'QUOTA' or 'FULL' } end

-- 5. If all have one: write it, and answer where nobody waits.
local answer
if complete then
  local facts = {}
  for _, balancer in ipairs(loaded) do
    local lb, used = balancer.lb, balancer.used
    if used > balancer.used_before then
      call('HSET', LBS, 'used:' .. lb, used, 'taken:' .. lb, balancer.bits)
      local full = used >= balancer.capacity and call('ZREM', ROOM, lb) and call('ZREM', ORDER, lb)
      if not full then call('ZADD', ROOM, used, lb) end
      facts[#facts + 1] = '"' .. lb .. '":' .. balancer.facts
    end
  end
  if added[1] then
    json = (json and json:sub(1, -2) .. ',' or '{') .. table.concat(added, ',') .. '}'
    call('HSET', OWNERS, name, json)
    call('HSET', META, 'free', free - lacking)
    call('HINCRBY', NAMESPACES, namespace, lacking)
  end
  for key in pairs(entries or {}) do -- a load balancer that carries several is named again
    local lb = key:match('^(.*):')
    local row = call('HGET', LBS, 'facts:' .. lb)
    if row then facts[#facts + 1] = '"' .. lb .. '":' .. row end
  end
  answer = '{"entries":' .. (json or '{}') .. ',"lbs":{' .. table.concat(facts, ',') .. '},"woken":'
  if waiters + capped == 0 then return answer .. '[]}' end
end

-- 6. The waiting list. Its functions are made here, not above: the usual call has ended by now, and they would cost it a tenth of
-- its time. They come after the locals of the script (431), and read none of them.
-- luacheck: push ignore 431
--- @include "lib/cap"
--- @include "lib/uncap"
--- @include "lib/stop_waiting"
--- @include "lib/start_waiting"
--- @include "lib/begin_wait"
--- @include "lib/waiting_keys"
--- @include "lib/pool_keys"
--- @include "lib/add_uncapped"
-- luacheck: pop
if over_share then
  local names = cap(name, lacking)
  return { 'QUOTA', share, string.format('%d', charged), names, begin_wait(name, uid, lacking, 'NamespaceShare') }
end
if not complete and exact_port then return { 'TAKEN' } end
if capped > 0 then uncap(name) end -- maybe it is one of them
local picky = ranges and ranges[1] and 1 or 0
local woken = complete and stop_waiting(name) or start_waiting(name, lacking, picky, kinds)
if capped > 0 then add_uncapped(woken, name) end
if not complete then
  local failure = begin_wait(name, uid, lacking, 'NoFreePort')
  return { 'FULL', call('HGET', META, 'epoch'), woken, failure, call('HLEN', SLOTS) }
end
call('HDEL', WAITERS, name)
return answer .. (#woken > 0 and cjson.encode(woken) or '[]') .. '}'
