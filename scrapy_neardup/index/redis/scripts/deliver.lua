--[[
Notes in their records that documents are delivered.

KEYS[1]  record hash of a slice (see window.lua)
ARGV     keys of documents of that slice; those it does not have are left out

The run stands in bytes 70 to 73 of a record of version 5, see records/documents.py.
]]
local VERSION, DELIVERED = 5, string.rep('\0', 4)
for _, key in ipairs(ARGV) do
    local record = redis.call('HGET', KEYS[1], key)
    if record and string.byte(record) == VERSION and #record >= 73 and string.sub(record, 70, 73) ~= DELIVERED then
        redis.call('HSET', KEYS[1], key, string.sub(record, 1, 69) .. DELIVERED .. string.sub(record, 74))
    end
end
