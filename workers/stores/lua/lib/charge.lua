-- Charges the namespace of a name for ports that the name holds or waits for; less than 0: gives them back.
--- @include "lib/keys"
--- @include "lib/namespace_of"
local function charge(name, ports)
  local namespace = namespace_of(name)
  if call('HINCRBY', NAMESPACES, namespace, ports) <= 0 then call('HDEL', NAMESPACES, namespace) end
end
