-- How luacheck reads our scripts: Lua 5.1 as Redis runs it. They are expanded beforehand (scripts/lua_expanded.py), so that it
-- meets every function that a script includes. In a folder with head files, which the loader puts before each script, the
-- names that those declare are read from them.
std = {
  read_globals = {
    "redis", "cjson", "cmsgpack", "bit", "struct", "KEYS", "ARGV",
    "assert", "error", "getmetatable", "ipairs", "next", "pairs", "pcall", "rawequal", "rawget", "rawset", "select",
    "setmetatable", "string", "table", "math", "tonumber", "tostring", "type", "unpack", "xpcall",
  },
}
max_line_length = 120
max_comment_line_length = 140 -- headers list the answers of a script, one a line
codes = true

local function names_of(head)
  local names = {}
  for line in io.lines(head) do
    local declared = line:match("^local function ([%w_]+)") or line:match("^local ([%w_, ]+)") or ""
    for name in declared:gmatch("[%w_]+") do names[#names + 1] = name end
  end
  return names
end

for folder in io.popen("find . -name '*_head.lua' -exec dirname {} ';' | sort -u | cut -c 3-"):lines() do
  local known = {}
  local heads = io.popen("ls " .. folder .. "/*_head.lua")
  for head in heads:lines() do
    for _, name in ipairs(names_of(head)) do known[#known + 1] = name end
    files[head] = { ignore = { "211", "221", "231", "241", "311" } } -- what a head declares or sets, others use
  end
  heads:close()
  files[folder .. "/*.lua"] = { globals = known }
end
