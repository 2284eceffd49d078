--[[
Takes over grants that were given a while ago and not confirmed, so that only the caller signals them.

KEYS[1]  grants, see claim.lua
ARGV[1]  how many seconds ago they were given or taken over, at least
ARGV[2]  how many at most
ARGV[3]  second by the caller's clock

Returns token and grant of each, without the time.
]]
local seconds, most, now = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])

local found = {}
local grants = redis.call('HGETALL', KEYS[1])
for at = 1, #grants, 2 do
    local since, story, told = string.match(grants[at + 1], '^(%d+) (%x+)( %d+ %d+ %d+ .*)$')
    if not since or #story ~= 16 then
        redis.call('HDEL', KEYS[1], grants[at])  -- damaged
    elseif #found < 2 * most and math.abs(now - tonumber(since)) >= seconds then  -- or the claimant's clock was ahead
        redis.call('HSET', KEYS[1], grants[at], ARGV[3] .. ' ' .. story .. told)
        found[#found + 1] = grants[at]
        found[#found + 1] = story .. told
    end
end
return found
