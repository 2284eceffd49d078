--[[
Notes in their records that documents are kept, although their match holds enough of their text.

KEYS[1]  record hash of a slice (see candidates.lua)
ARGV     keys of documents of that slice; those it does not have are left out
]]
for _, key in ipairs(ARGV) do
    local packed = redis.call('HGET', KEYS[1], key)
    local record = packed and unpack_record(packed)
    if record then
        record.kept_share_parts, record.run = WHOLE_TEXT, record.run % IS_DROPPED
        redis.call('HSET', KEYS[1], key, pack_record(record))
    end
end
