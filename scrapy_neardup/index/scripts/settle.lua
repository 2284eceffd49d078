--[[
Says that the match of a document is decided, in one shard.

KEYS[1]  documents of this shard whose match is not decided yet (see probe.lua)
KEYS[2]  record hash of the document's hour
ARGV[1]  document key
ARGV[2]  its record with its match, or nothing where it has none

Of a document that was decided by somebody else meanwhile, or is gone, nothing changes. Returns 1 where it did.
]]
local MOST_PENDING = 10000

local undecided = redis.call('HDEL', KEYS[1], ARGV[1])
if undecided == 1 and ARGV[2] ~= '' and redis.call('HEXISTS', KEYS[2], ARGV[1]) == 1 then
    redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
end
-- Only processes that died leave any behind.
if redis.call('HLEN', KEYS[1]) > MOST_PENDING then redis.call('UNLINK', KEYS[1]) end
return undecided
