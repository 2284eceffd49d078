--[[
Adds entries to a list of learned boilerplate, and forgets the oldest.

KEYS[1]  the list (see layout.py)
ARGV     how many entries are kept; how long from now (seconds), 0 to leave that as it is; the new entries, the newest last

Returns all entries.
]]
local most, seconds = tonumber(ARGV[1]), tonumber(ARGV[2])
for number = 3, #ARGV do redis.call('RPUSH', KEYS[1], ARGV[number]) end
redis.call('LTRIM', KEYS[1], -most, -1)
if seconds > 0 then redis.call('EXPIRE', KEYS[1], seconds) end
return redis.call('LRANGE', KEYS[1], 0, -1)
