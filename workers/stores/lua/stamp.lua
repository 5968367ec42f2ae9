-- Ends a rebuild: writes what the world shows and stamps the incarnation. The state stays closed until `configure`.
-- KEYS[1] prefix of the pool.
-- ARGV server, mark of this rebuild, incarnation to stamp, first port, owners JSON {name: {"lb:port": entry}}.
-- Returns {'REFUSED'} (Redis was lost since, or another rebuild was first) | {'OK', epoch}.
local server, mark, inc, start, owners = unpack(ARGV)
if ready(server, '') or call('HGET', META, 'rebuild') ~= mark then return { 'REFUSED' } end
local old = tonumber(call('HGET', META, 'epoch') or 0)
call('DEL', META, FENCES, OWNERS, LBS, BITS, USED, CAP, SLOTS, ORDER, ROOM, WAITING, WOKEN, DEMAND)
local bits, used = {}, {}
for name, held in pairs(cjson.decode(owners)) do
  keep(name, held)
  for key in pairs(held) do
    local lb, port = port_of(key)
    if tonumber(port) >= tonumber(start) then bits[lb] = bit_set(bits[lb] or '', port - start, true) end
    used[lb] = (used[lb] or 0) + 1
  end
end
for lb, string in pairs(bits) do call('HSET', BITS, lb, string) end
for lb, n in pairs(used) do call('HSET', USED, lb, n) end
local epoch = math.max(old + 1, now_ms()) -- one that was never used
call('HSET', META, 'inc', inc, 'epoch', string.format('%.0f', epoch), 'start', start)
return { 'OK', string.format('%.0f', epoch) }
