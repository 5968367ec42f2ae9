-- How luacheck reads our scripts: Lua 5.1 as Redis runs it. They are expanded beforehand (scripts/lua_expanded.py), so that it
-- meets every function that a script includes.
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
