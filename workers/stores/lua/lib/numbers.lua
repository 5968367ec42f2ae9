-- The numbers in a text like `3,2,0`; {} for nil.
local function numbers(text)
  local found = {}
  for number in (text or ''):gmatch('%d+') do found[#found + 1] = number + 0 end
  return found
end
