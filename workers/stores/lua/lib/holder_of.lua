-- Who holds an acquired key: what is before the length in its value, nil for no value. '' is nobody, who keeps others away.
local function holder_of(value) return value and value:match('^(.*)-%d+$') end
