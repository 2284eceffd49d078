--[[
Removes documents that nobody will deliver.

KEYS[1]  record hash of a slice (see candidates.lua)
ARGV     keys of documents of that slice
]]
for _, key in ipairs(ARGV) do redis.call('HDEL', KEYS[1], key) end
