-- The first offset from `from` on where so many free ports begin, at a multiple of `step`; nil: nowhere before `size`.
--- @include "lib/next_free_ports"
local function next_free_range(bits, ports, from, size, step)
  while true do
    local offset, found = next_free_ports(bits, from, ports, size)
    if found < 1 then return nil end
    if offset % step == 0 and found == ports then return offset end
    from = offset % step > 0 and offset + step - offset % step or offset + math.ceil(found / step) * step
  end
end
