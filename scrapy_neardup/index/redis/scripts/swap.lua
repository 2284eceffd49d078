--[[
Writes, unless somebody has changed what the caller read. It knows no rule: Python decides what is written.

KEYS     the keys that are read or written
ARGV[1]  how many answers are compared
ARGV     then for each of these the answer that is expected, an empty string if there is nothing, and a command that
         reads; then the commands that write. A command is its name, the number of its key, the number of its
         arguments, and its arguments.

Returns 1 if it wrote, nil if an answer differs. If a key is of another type than a command needs, what the commands
before it wrote stays, and the caller may write it again.
]]
local at = 2

local function call()
    local first, count = at + 3, tonumber(ARGV[at + 2])
    local name, key = ARGV[at], KEYS[tonumber(ARGV[at + 1])]
    at = first + count
    return redis.call(name, key, unpack(ARGV, first, at - 1))
end

for _ = 1, tonumber(ARGV[1]) do
    local expected = ARGV[at]
    at = at + 1
    if (call() or '') ~= expected then return nil end
end
while at <= #ARGV do call() end
return 1
