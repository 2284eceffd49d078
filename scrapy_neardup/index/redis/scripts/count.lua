--[[
Adds to the counts of verdicts that people watch.

KEYS[1]  hash of a span of minutes: "<minute>:<name>" -> count
ARGV     seconds until the hash expires; how many fields it may have; then fields and what is added to each

Fields over the limit are left out.
]]
local key, fields, most = KEYS[1], redis.call('HLEN', KEYS[1]), tonumber(ARGV[2])
for at = 3, #ARGV - 1, 2 do
    local before = redis.call('HGET', key, ARGV[at])
    if before or fields < most then
        redis.call('HSET', key, ARGV[at], string.format('%d', (tonumber(before) or 0) + tonumber(ARGV[at + 1])))
        if not before then fields = fields + 1 end
    end
end
redis.call('EXPIRE', key, ARGV[1])
return fields
