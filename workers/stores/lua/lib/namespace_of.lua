-- The namespace of a name, `namespace/name`.
local function namespace_of(name) return name:match('^[^/]*') end
