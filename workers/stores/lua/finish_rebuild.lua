-- Ends a rebuild: writes what the world shows and stamps the incarnation. The state stays closed until `configure`.
-- KEYS[1] prefix of the pool.
-- ARGV server, mark of this rebuild, first port, owners JSON {name: {"lb:port": entry}}.
-- Returns {'REFUSED'} (Redis was lost or replaced since the mark was left, or another rebuild was first) | {'OK', epoch}.
--- @include "lib/keys"
--- @include "lib/verified_under"
--- @include "lib/delete_ledger"
--- @include "lib/save_entries"
--- @include "lib/charge"
--- @include "lib/split_key"
--- @include "lib/set_bit"
--- @include "lib/now_us"
local server, mark, start, owners = unpack(ARGV)
local incarnation = server .. '/' .. mark
if verified_under(server) or call('HGET', META, 'rebuild') ~= incarnation then return { 'REFUSED' } end
local last_epoch = tonumber(call('HGET', META, 'epoch') or 0)
delete_ledger()
local bits, used = {}, {}
for name, entries in pairs(cjson.decode(owners)) do
  save_entries(name, entries)
  for key in pairs(entries) do
    charge(name, 1)
    local lb, port = split_key(key)
    bits[lb], used[lb] = set_bit(bits[lb] or '', port - start, true), (used[lb] or 0) + 1
  end
end
for lb, ports in pairs(used) do call('HSET', LBS, 'used:' .. lb, ports, 'taken:' .. lb, bits[lb]) end
local epoch = string.format('%.0f', math.max(last_epoch + 1, now_us())) -- never used: none rises once a microsecond
call('HSET', META, 'incarnation', incarnation, 'epoch', epoch, 'start', start) -- and no floor: `configure` sets it (rule newest)
return { 'OK', epoch }
