-- The bits (lib/get_bit.lua) with a range of free ports taken, all in one step.
local function take_range(bits, offset, ports)
  local bit_offset = offset % 8
  local first = (offset - bit_offset) / 8 + 1
  if #bits < first - 1 then bits = bits .. string.rep('\0', first - 1 - #bits) end
  local before, byte = bits:sub(1, first - 1), bits:byte(first) or 0
  if bit_offset + ports <= 8 then
    return before .. string.char(byte + (2 ^ ports - 1) * 2 ^ bit_offset) .. bits:sub(first + 1)
  end
  local rest = ports - (8 - bit_offset) -- beyond the first byte
  local rest_bits = rest % 8
  local whole = (rest - rest_bits) / 8
  local last = first + whole + 1
  local tail = rest_bits > 0 and string.char((bits:byte(last) or 0) + 2 ^ rest_bits - 1) or bits:sub(last, last)
  return before .. string.char(byte + 256 - 2 ^ bit_offset) .. string.rep('\255', whole) .. tail .. bits:sub(last + 1)
end
