-- The bits (lib/get_bit.lua) with a port taken or free. One outside 1 to 65535 has no bit: tags and annotations may say anything.
local function set_bit(bits, offset, taken)
  if offset < 0 or offset > 65535 then return bits end
  local at = math.floor(offset / 8) + 1
  if #bits < at then bits = bits .. string.rep('\0', at - #bits) end
  local byte, mask = bits:byte(at), bit.lshift(1, offset % 8)
  byte = taken and bit.bor(byte, mask) or bit.band(byte, bit.bnot(mask))
  return bits:sub(1, at - 1) .. string.char(byte) .. bits:sub(at + 1)
end
