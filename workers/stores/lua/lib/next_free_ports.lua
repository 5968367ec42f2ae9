-- The next free ports from an offset on that follow each other, at most so many: first offset, how many. By arithmetic alone:
-- `allocate` spends most of its time here, and a call of the library `bit` costs more than the test that it makes.
local function next_free_ports(bits, from, most, size)
  local at = bits:find('[^\255]', (from - from % 8) / 8 + 1)
  local offset = at and (at - 1) * 8 or #bits * 8
  if offset < from then offset = from end
  local byte, mask, ports = at and bits:byte(at), 2 ^ (offset % 8), 0
  while byte and byte % (mask + mask) >= mask do -- taken
    offset, mask = offset + 1, mask + mask
    if mask == 256 then return next_free_ports(bits, offset, most, size) end
  end
  if offset + most > size then most = size - offset end
  while byte and ports < most and byte % (mask + mask) < mask do
    ports, mask = ports + 1, mask + mask
    if mask == 256 then at, mask, byte = at + 1, 1, bits:byte(at + 1) end
  end
  return offset, byte and ports or most -- beyond the string all are free
end
