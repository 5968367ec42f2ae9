-- First part of `allocate`: what is asked, the gate, what the owner lacks, which load balancers to try.
-- KEYS[1], ARGV and what may be returned here: see allocate.lua. It has few functions, and calls as few: to make or to
-- call one costs more than what most of them would do.
local ask = cjson.decode(ARGV[2])
local name, tok, uid, index, singles, runs, step, exact = ask[2], ask[3], ask[4], ask[5], ask[6], ask[7], ask[8], ask[9]
local m = call('HMGET', META, 'inc', 'state', 'start', 'size', 'free', 'waiters', 'share', 'capped')
if m[1] ~= ARGV[1] .. '/' .. ask[1] then return { 'NOT_READY' } end
if call('HGET', FENCES, name) ~= tok then return { 'STALE' } end
if m[2] ~= 'Active' then return { 'CLOSED' } end
local start, size, json, held = m[3] + 0, m[4] + 0, call('HGET', OWNERS, name), nil

if json then -- what the owner holds it is not given again
  local has, whole, lone, rows, most = {}, {}, {}, {}, {} -- whole: of each want, the most ports that lie as they should
  for _, run in ipairs(runs or {}) do most[run[1]] = run[2] end
  held = cjson.decode(json)
  for key, e in pairs(held) do
    for n, want in ipairs(e.u == uid and e.s ~= 'releasing' and (type(e.w) == 'table' and e.w or { e.w }) or {}) do
      local run, nth = want:match('^(.*)%+(%d+)$')
      local lb, port = key:match('^(.*):(%d+)$')
      local place = (run or want) .. '@' .. lb .. ':' .. port + n - 1 - (nth or 0)
      if not run or nth + 0 < (most[run] or 0) then has[place] = (has[place] or 0) + 1 end -- not the tail of a longer one
      whole[run or want] = math.max(whole[run or want] or 0, has[place] or 0)
    end
  end
  for _, key in ipairs(singles) do if not whole[key] then lone[#lone + 1] = key end end
  for _, run in ipairs(runs or {}) do if (whole[run[1]] or 0) < run[2] then rows[#rows + 1] = run end end
  singles, runs = lone, rows
end
local lacking, kinds = #singles, {} -- kinds: how many of each kind of precreated listeners
for _, run in ipairs(runs or {}) do
  lacking = lacking + run[2]
  for k = 1, run[3] and 3 or 0 do kinds[k] = (kinds[k] or 0) + (k == run[3] and run[2] or 0) end
end

local loaded, rank = {}, 0
local function candidate(i) -- the i-th to try, or nil; read as they are needed, and a full one is in no index
  while not loaded[i] do
    local page
    if index == 'shuffled' and rank == 0 then -- any is the first, then they go by position
      page, index = { call('ZRANDMEMBER', ORDER) or nil }, 'order'
    else
      page = call('ZRANGE', index == 'room' and ROOM or ORDER, rank, rank + #loaded)
      rank = rank + #page
    end
    if not page[1] then return nil end
    for _, lb in ipairs(page) do
      if not loaded[lb] then
        local row = call('HMGET', LBS, 'u:' .. lb, 'c:' .. lb, 'b:' .. lb, 'j:' .. lb)
        local used = (row[1] or 0) + 0
        local c = { lb = lb, was = used, used = used, most = row[2] + 0, bits = row[3] or '', json = row[4] }
        loaded[lb], loaded[#loaded + 1] = c, c
      end
    end
  end
  return loaded[i]
end
