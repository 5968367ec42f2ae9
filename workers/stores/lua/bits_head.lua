-- Shared head, after ledger_head: the ports of one load balancer as a string of bits, the lowest bit of a byte first.
-- KEYS[1] as there. Bit 0 is the pool's first port; bits beyond the string are free, so a string is as long as its highest use.
-- ARGV and returns: see each script.
local function bit_set(bits, off, on) -- bits: a string, the lowest bit of a byte first
  local at = math.floor(off / 8) + 1
  if #bits < at then bits = bits .. string.rep('\0', at - #bits) end
  local byte, mask = bits:byte(at), bit.lshift(1, off % 8)
  byte = on and bit.bor(byte, mask) or bit.band(byte, bit.bnot(mask))
  return bits:sub(1, at - 1) .. string.char(byte) .. bits:sub(at + 1)
end

local function bit_get(bits, off)
  local byte = bits:byte(math.floor(off / 8) + 1)
  return byte ~= nil and bit.band(byte, bit.lshift(1, off % 8)) ~= 0
end

local function first_fit(bits, ports, size) -- offset of the first free run of so many ports, or nil
  if ports == 1 then
    local at = bits:find('[^\255]')
    local off = at and (at - 1) * 8 or #bits * 8
    while at and bit_get(bits, off) do off = off + 1 end
    return off < size and off or nil
  end
  local off, length = 0, 0
  while off < size and length < ports do
    if bit_get(bits, off) then length = 0 else length = length + 1 end
    off = off + 1
  end
  return length == ports and off - ports or nil
end
