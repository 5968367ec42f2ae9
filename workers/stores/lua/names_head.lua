-- First head of the ledger's scripts: the names of the pool's keys.
-- KEYS[1] is the pool's prefix with its hash tag, {pp:NAME}; every key is made from it, so that all are in one slot.
-- ARGV and returns: see each script. LBS has for each load balancer LB: j:LB facts (JSON), c:LB ports that it may carry
-- (none: it gives no new ones), u:LB in use, b:LB taken ports (bits_head), e:LB since when it is empty (ms, says nothing
-- while it is in use), r:LB that it is retiring. META free is the sum of what they can still give;
-- ORDER (by position) and ROOM (by use) have those with something to give. OWNERS has entries (entries_head).
local call, P = redis.call, KEYS[1]
local META, FENCES, OWNERS, LBS, SLOTS = P .. 'meta', P .. 'fences', P .. 'owners', P .. 'lbs', P .. 'slots'
local STOCK, COMING, COMPARE = P .. 'stock', P .. 'coming', P .. 'compare' -- stock_head
local SPACES, CAPPED, CAP = P .. 'spaces', P .. 'capped', P .. 'cap' -- demand_head, share_head
local ORDER, ROOM, WAITING, WOKEN, DEMAND = P .. 'order', P .. 'room', P .. 'waiting', P .. 'woken', P .. 'demand'
local RETAINED = P .. 'retained' -- names with retained entries, by the first ms at which one is over; a name may be late in leaving
