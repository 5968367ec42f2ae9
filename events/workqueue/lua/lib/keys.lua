--[[ The keys of one shard. Every script of the queue gets them in this order.

KEYS, under one hash tag:
  1 SNAPSHOTS  hash   key -> <history, 6 digits>.<version, 20 digits><L|G><uid>|<body>
  2 DIRTY      hash   key -> generation of its last mark; if only marks have come since it was N: <generation>@N@<version>
  3 HOLDERS    hash   key -> token of its holder
  4 TIMER      zset   key, when its lease ends or its wait is over (ms); a key is in at most one ready queue or in TIMER
  5 META       hash   epoch, run (incarnation of the last complete list), gen (generation of the last mark), tok (number of the
                      last token), history (6 digits), cluster and system (of the fleet whose Redis this is), noted (ms,
                      TIME of the last sweep or after it), version (of the form of the state in this Redis), turn (number of
                      keys served), hints (number of the last hint)
  6 ATTEMPTS   hash   key -> attempts
  7 POOLS      hash   key -> JSON list of pools where its name may hold ports
  8 SENT       zset   id of a hint whose drain has not begun, when it was sent (ms)
  9 TRACES     hash   key -> trace of who made it ready, if traces are sent
 10 to 13      zset   the ready queues, one a class as in lib/classes.lua: key, since when it is ready (ms)
 14 REPLY      string the last reply to one drain (take_next and done only)
 15 HINTS      list   optional: the broker's queue, if it is in this Redis; else the caller sends the hints
Times are the server's. Versions are compared within one history of the API only, as the text <history>.<version>.
]]
-- luacheck: push ignore 211
-- Each script uses some of them.
local SNAPSHOTS, DIRTY, HOLDERS, TIMER, META = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local ATTEMPTS, POOLS, SENT, TRACES, REPLY, HINTS = KEYS[6], KEYS[7], KEYS[8], KEYS[9], KEYS[14], KEYS[15]
-- luacheck: pop
