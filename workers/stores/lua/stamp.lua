-- Ends a rebuild: writes what the world shows and stamps the incarnation. The state stays closed until `configure`.
-- KEYS[1] prefix of the pool.
-- ARGV server, mark of this rebuild, first port, owners JSON {name: {"lb:port": entry}}.
-- Returns {'REFUSED'} (Redis was lost or replaced since the mark was left, or another rebuild was first) | {'OK', epoch}.
local server, mark, start, owners = unpack(ARGV)
local inc = server .. '/' .. mark
if ready(server) or call('HGET', META, 'rebuild') ~= inc then return { 'REFUSED' } end
local old = tonumber(call('HGET', META, 'epoch') or 0)
call('DEL', META, FENCES, OWNERS, LBS, SLOTS, ORDER, ROOM, WAITING, WOKEN, DEMAND, SPACES, CAPPED, CAP)
call('DEL', STOCK, COMING, COMPARE, RETAINED)
local bits, used = {}, {}
for name, held in pairs(cjson.decode(owners)) do
  keep(name, held)
  for key in pairs(held) do
    claim(name, 1)
    local lb, port = port_of(key)
    bits[lb], used[lb] = bit_set(bits[lb] or '', port - start, true), (used[lb] or 0) + 1
  end
end
for lb, n in pairs(used) do call('HSET', LBS, 'u:' .. lb, n, 'b:' .. lb, bits[lb]) end
local now = now_us()
local epoch = string.format('%.0f', math.max(old + 1, now)) -- never used: none rises once a microsecond
-- floor: a run that began before the stamp knows a world from before it
call('HSET', META, 'inc', inc, 'epoch', epoch, 'start', start, 'floor', string.format('%.0f', now))
return { 'OK', epoch }
