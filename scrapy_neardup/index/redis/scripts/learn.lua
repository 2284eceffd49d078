--[[
Replaces the document frequencies that all processes have counted, unless they have changed since the caller read them.

KEYS[1]  sum, as records/feature_counts.py packs it
ARGV[1]  the number of documents (4 bytes) of the sum that the caller read, empty if there was none
ARGV[2]  the new sum, empty to read only
ARGV[3]  seconds until the sum expires

Returns 1 if the sum was replaced, else the sum; nil if there is none.
]]
local sum = redis.call('GET', KEYS[1])
if ARGV[2] == '' or string.sub(sum or '', 1, DOCUMENTS_BYTES) ~= ARGV[1] then return sum end
redis.call('SET', KEYS[1], ARGV[2], 'EX', ARGV[3])
return 1
