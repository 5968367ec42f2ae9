-- Whether a slot of that class takes a job of these phases.
local function accepts(class, phases)
  for _, phase in ipairs(phases) do
    if class ~= '*' and not class:find(',' .. phase .. ',', 1, true) then return false end
  end
  return true
end
