--[[
Notes that runs live or are dead.

KEYS[1]  runs (see candidates.lua)
ARGV[1]  number of the run that lives, 0 for none    ARGV[2]  runs that live beside it, blanks between them
ARGV[3]  runs that are dead    ARGV[4]  milliseconds after which a run is forgotten
ARGV[5]  seconds until the key expires
]]
local time = redis.call('TIME')
local now = string.format('%d', time[1] * 1000 + math.floor(time[2] / 1000))

local function first_of(run)
    local kept = redis.call('HGET', KEYS[1], run)
    return kept and string.match(kept, '^(%d+) %d+$')
end

if ARGV[1] ~= '0' then redis.call('HSET', KEYS[1], ARGV[1], (first_of(ARGV[1]) or now) .. ' ' .. now) end
for run in string.gmatch(ARGV[2], '%d+') do
    local first = first_of(run)
    if first then redis.call('HSET', KEYS[1], run, first .. ' ' .. now) end
end
for run in string.gmatch(ARGV[3], '%d+') do redis.call('HDEL', KEYS[1], run) end
local kept = redis.call('HGETALL', KEYS[1])
for at = 1, #kept, 2 do
    local last = tonumber(string.match(kept[at + 1], ' (%d+)$') or 0)
    if now - last > tonumber(ARGV[4]) then redis.call('HDEL', KEYS[1], kept[at]) end
end
redis.call('EXPIRE', KEYS[1], ARGV[5])
