-- The keys of a namespace's index of claims, made from its prefix.
-- KEYS[1] prefix of the namespace, {claims:NAMESPACE}.
-- RECORDS hash: name of a claim -> JSON {"uid": ..., "pods": [name, ...], "run": token of its latest run, "write": the
-- event that the run's write of a pod makes {"pod": name, "version": nil while it is unknown, "taken": whether an event
-- was taken for it}}; WAITING hash: name -> JSON with its uid;
-- UIDS hash: uid -> name; MISSING hash: uid -> JSON. NAMERS (set, by pod): names of the claims that
-- name the pod, and ~name of those that were about to take it. TRIED (hash,
-- by uid): pods that the claim may have taken -> 1, '' -> the server that knows all of them.
-- luacheck: push ignore 211
-- Each script uses some of them.
local RECORDS, WAITING = KEYS[1] .. 'records', KEYS[1] .. 'waiting'
local UIDS, MISSING = KEYS[1] .. 'uids', KEYS[1] .. 'missing'
local NAMERS, TRIED = KEYS[1] .. 'pod:', KEYS[1] .. 'tried:'
-- luacheck: pop
