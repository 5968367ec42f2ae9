-- What a value that was read from JSON is.
local function is_text(value) return type(value) == 'string' end
local function is_number(value) return type(value) == 'number' end

local function are_texts(list)
  if type(list) ~= 'table' then return false end
  for _, value in pairs(list) do if type(value) ~= 'string' then return false end end
  return true
end
