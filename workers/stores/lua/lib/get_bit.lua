-- Whether a port is taken. The ports of a load balancer are a string of bits, the lowest bit of a byte first; bit 0 is the pool's
-- first port. Bits beyond the string are free: a string is as long as its highest use.
local function get_bit(bits, offset)
  local byte = bits:byte(math.floor(offset / 8) + 1)
  return byte ~= nil and bit.band(byte, bit.lshift(1, offset % 8)) ~= 0
end
