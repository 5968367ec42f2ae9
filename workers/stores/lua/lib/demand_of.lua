-- What a waiter wants: ports, when it joined (ms), 1 if it is picky or 0, META freed when it joined (text), its ports by kind
-- (`3,2,0`, or ''); nil for who does not wait. A picky one wants more than any free port: several in a row, or a kind of them.
--- @include "lib/keys"
local function demand_of(name)
  local ports, joined, picky, freed, kinds = (call('HGET', DEMAND, name) or ''):match('^(%d+):(%d+):([01]):(%d+):(.*)$')
  return tonumber(ports), tonumber(joined), tonumber(picky), freed, kinds
end
