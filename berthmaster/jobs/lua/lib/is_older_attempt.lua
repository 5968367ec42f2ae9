-- Whether one attempt was made before another. '' is older than any.
local function is_older_attempt(attempt, other)
  local mark, number = attempt:match('^(%d+)-(%d+)$')
  local other_mark, other_number = other:match('^(%d+)-(%d+)$')
  if not (mark and other_mark) then return not mark and other_mark ~= nil end
  if mark ~= other_mark then return tonumber(mark) < tonumber(other_mark) end
  return tonumber(number) < tonumber(other_number)
end
