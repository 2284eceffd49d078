--[[
Notes in one shard that the match of a document is decided, or that somebody waited for the decision in vain.

KEYS[1]  documents of this shard whose match is not decided yet (see check_shard.lua)
KEYS[2]  record hash of the document's hour
ARGV[1]  document key
ARGV[2]  "matched", "first" or "doubt"
ARGV[3]  if it is matched, its record with its match

Nothing changes if somebody else has decided the document meanwhile, or if it is gone.
]]
local MOST_PENDING = 10000
local key, decision, packed = ARGV[1], ARGV[2], ARGV[3]

local keys = redis.call('HGET', KEYS[1], key)
if not keys then return end
if decision == 'doubt' then
    if #keys % 4 == 0 then redis.call('HSET', KEYS[1], key, keys .. '?') end
    return
end
redis.call('HDEL', KEYS[1], key)
local stored = decision == 'matched' and redis.call('HGET', KEYS[2], key)
if stored then
    local before, record = unpack_record(stored), unpack_record(packed)
    if before and before.run == 0 then record.run = 0 end -- it is delivered already
    redis.call('HSET', KEYS[2], key, pack_record(record))
end
-- Only processes that died leave undecided documents behind.
if redis.call('HLEN', KEYS[1]) > MOST_PENDING then redis.call('UNLINK', KEYS[1]) end
