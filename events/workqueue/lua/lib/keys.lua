--[[ The keys of one shard. Every script of the queue gets them in this order.

KEYS, under one hash tag:
  1 SNAPSHOTS  hash   key -> <history, 6 digits>.<version, 20 digits><L|G><uid>|<body>
  2 DIRTY      hash   key -> generation of its last mark; if only marks have come since it was N: <generation>@N@<version>
  3 HOLDERS    hash   key -> token of its holder
  4 QUEUED     zset   key, when its hint was sent (ms)
  5 TIMER      zset   key, when its lease ends or its wait is over (ms); a key is in at most one of QUEUED and TIMER
  6 META       hash   epoch, run (incarnation of the last complete list), gen (generation of the last mark), tok (number of the
                      last token), history (6 digits), cluster and system (of the fleet whose Redis this is), noted (ms,
                      TIME of the last sweep or after it), version (of the form of the state in this Redis)
  7 ATTEMPTS   hash   key -> attempts
  8 POOLS      hash   key -> JSON list of pools where its name may hold ports
  9 SWEEP      string when the outstanding sweep for lost hints was sent (ms)
 10 HINTS      list   optional: the broker's queue, if it is in this Redis; else the caller sends the hints
Times are the server's. Versions are compared within one history of the API only, as the text <history>.<version>.
]]
-- luacheck: push ignore 211
-- Each script uses some of them.
local SNAPSHOTS, DIRTY, HOLDERS, QUEUED, TIMER, META, ATTEMPTS, POOLS, SWEEP, HINTS = unpack(KEYS)
-- luacheck: pop
