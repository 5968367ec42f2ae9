-- Second part of `allocate`: runs of free ports in the bits of a load balancer (see bits_head), by arithmetic alone.
-- KEYS[1], ARGV, returns: none of its own.
local function next_run(bits, from, most, size) -- free ports from there on that follow each other: first offset, how many
  local at = bits:find('[^\255]', (from - from % 8) / 8 + 1)
  local off = at and (at - 1) * 8 or #bits * 8
  if off < from then off = from end
  local byte, mask, ports = at and bits:byte(at), 2 ^ (off % 8), 0
  while byte and byte % (mask + mask) >= mask do -- taken
    off, mask = off + 1, mask + mask
    if mask == 256 then return next_run(bits, off, most, size) end
  end
  if off + most > size then most = size - off end
  while byte and ports < most and byte % (mask + mask) < mask do
    ports, mask = ports + 1, mask + mask
    if mask == 256 then at, mask, byte = at + 1, 1, bits:byte(at + 1) end
  end
  return off, byte and ports or most -- beyond the string all are free
end

local function next_row(bits, ports, from, size, step) -- where so many free ports begin, at a multiple of step; nil: nowhere
  while true do
    local off, found = next_run(bits, from, ports, size)
    if found < 1 then return nil end
    if off % step == 0 and found == ports then return off end
    from = off % step > 0 and off + step - off % step or off + math.ceil(found / step) * step
  end
end

local function fill(bits, off, ports) -- the bits with this run, which is free, taken
  local bit = off % 8
  local first = (off - bit) / 8 + 1
  if #bits < first - 1 then bits = bits .. string.rep('\0', first - 1 - #bits) end
  local before, byte = bits:sub(1, first - 1), bits:byte(first) or 0
  if bit + ports <= 8 then return before .. string.char(byte + (2 ^ ports - 1) * 2 ^ bit) .. bits:sub(first + 1) end
  local rest = ports - (8 - bit) -- beyond the first byte
  local over = rest % 8
  local whole = (rest - over) / 8
  local last = first + whole + 1
  local tail = over > 0 and string.char((bits:byte(last) or 0) + 2 ^ over - 1) or bits:sub(last, last)
  return before .. string.char(byte + 256 - 2 ^ bit) .. string.rep('\255', whole) .. tail .. bits:sub(last + 1)
end

local added, mine = {}, ',"u":"' .. uid .. '","s":"allocated","k":"' .. tok .. '"}'
local function take(c, off, keys, from, to)
  local want = from == to and '"' .. keys[from] .. '"' or '["' .. table.concat(keys, '","', from, to) .. '"]'
  added[#added + 1] = '"' .. c.lb .. ':' .. start + off .. '":{"w":' .. want .. mine
  c.bits, c.used = fill(c.bits, off, to - from + 1), c.used + to - from + 1
end
