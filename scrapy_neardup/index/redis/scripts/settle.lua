--[[
Says that the match of a document is decided, in one shard; or that somebody waited for it in vain.

KEYS[1]  documents of this shard whose match is not decided yet (see probe.lua)
KEYS[2]  record hash of the document's hour
ARGV[1]  document key
ARGV[2]  "matched", "first" or "doubt"
ARGV[3]  where it is matched, its record with its match

Of a document that was decided by somebody else meanwhile, or is gone, nothing changes.
]]
local MOST_PENDING = 10000

local keys = redis.call('HGET', KEYS[1], ARGV[1])
if not keys then return end
if ARGV[2] == 'doubt' then
    if #keys % 4 == 0 then redis.call('HSET', KEYS[1], ARGV[1], keys .. '?') end
    return
end
redis.call('HDEL', KEYS[1], ARGV[1])
local kept = ARGV[2] == 'matched' and redis.call('HGET', KEYS[2], ARGV[1])
if kept then
    -- It may be delivered already: the run stands in bytes 70 to 73, see records/documents.py.
    local run = string.sub(kept, 70, 73) == string.rep('\0', 4) and string.sub(kept, 70, 73) or string.sub(ARGV[3], 70, 73)
    redis.call('HSET', KEYS[2], ARGV[1], string.sub(ARGV[3], 1, 69) .. run .. string.sub(ARGV[3], 74))
end
-- Only processes that died leave any behind.
if redis.call('HLEN', KEYS[1]) > MOST_PENDING then redis.call('UNLINK', KEYS[1]) end
