--[[
Looks whether a document is decided.

KEYS[1]  documents that are not decided yet (see check_shard.lua)    KEYS[2]  record hash of a slice (see candidates.lua)
ARGV[1]  document key

Returns its record, an empty string if there is none; nil if it is not decided.
]]
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 then return nil end
return redis.call('HGET', KEYS[2], ARGV[1]) or ''
