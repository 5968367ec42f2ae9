-- Head before pods and jobs: what is a record of ours. Runners of the pool may write its keys, and what they write may be anything.
-- KEYS[1] as in names_head.
-- ARGV and returns: see each script. What is no record counts as none and is dropped, so that it stops nobody for ever.
local function json_of(text) -- nil for what is no object or list
  local good, value = pcall(cjson.decode, text)
  return good and type(value) == 'table' and value or nil
end

local function fits(record, kinds) -- kinds: name -> type; one that ends with ? may be missing
  for name, kind in pairs(kinds) do
    local has = type(record[name])
    if has ~= kind:gsub('?$', '') and not (has == 'nil' and kind:sub(-1) == '?') then return false end
  end
  return true
end

local function all_fit(list, kind)
  for _, each in pairs(list) do if type(each) ~= kind then return false end end
  return true
end

local JOB = {
  s = 'string', f = 'table', i = 'number', a = 'string', u = 'string?', x = 'number?', k = 'string', r = 'number',
  q = 'number', h = 'number', y = 'string', l = 'string?', t = 'number', o = 'string?', z = 'string?', b = 'string',
}
local POD = { n = 'string', v = 'string', k = 'string', t = 'number', c = 'number?', l = 'table', s = 'table' }
local SLOT = { j = 'string', a = 'string', s = 'string', g = 'number' }

local function is_job(j) return j and fits(j, JOB) and all_fit(j.f, 'string') and j.f[j.i] ~= nil end

local function is_pod(pod)
  if not (pod and fits(pod, POD) and all_fit(pod.l, 'string')) then return false end
  for x = 1, #pod.l do
    local slot = pod.s[x]
    if slot ~= false and not (type(slot) == 'table' and fits(slot, SLOT)) then return false end
  end
  return true
end
