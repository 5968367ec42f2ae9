-- Deletes everything that the ledger of a pool has.
--- @include "lib/keys"
--- @include "lib/stock_keys"
--- @include "lib/waiting_keys"
--- @include "lib/pool_keys"
local function delete_ledger()
  call('DEL', META, FENCES, OWNERS, LBS, SLOTS, ORDER, ROOM, STOCK, COMING, COMPARE)
  call('DEL', WAITING, WOKEN, DEMAND, NAMESPACES, CAPPED, CAP, WAITERS, OUTBOX, RETAINED)
end
