-- Notes that a free port has lost its precreated listener, which is to be made again. `absent`: JSON, as use_of has it.
--- @include "lib/keys"
--- @include "lib/change_coming"
local function add_absent(lb, absent, port)
  local ports = cjson.decode(absent)
  ports[#ports + 1] = port + 0
  call('HSET', LBS, 'absent:' .. lb, cjson.encode(ports))
  if call('HEXISTS', LBS, 'capacity:' .. lb) == 1 then
    call('HINCRBY', LBS, 'capacity:' .. lb, -1)
    change_coming(lb, 1)
  end
end
