-- Changes how many free ports of these kinds (`3,2,0`) are kept for woken waiters: sign 1 keeps them for one, -1 ends that.
--- @include "lib/keys"
--- @include "lib/numbers"
local function keep_kinds(kinds, sign)
  if kinds == '' then return end
  local kept = numbers(call('HGET', META, 'kept'))
  for kind, ports in ipairs(numbers(kinds)) do kept[kind] = (kept[kind] or 0) + sign * ports end
  call('HSET', META, 'kept', table.concat(kept, ','))
end
