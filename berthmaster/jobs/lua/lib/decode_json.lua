-- The object or list that a text is, nil for anything else. Runners of the pool may write its keys, and what they write
-- may be anything.
local function decode_json(text)
  local good, value = pcall(cjson.decode, text)
  return good and type(value) == 'table' and value or nil
end
