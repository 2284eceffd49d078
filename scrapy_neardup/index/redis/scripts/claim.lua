--[[
Grants a level of an event, or an update of it, to the first who claims it.

KEYS[1]  story (see join.lua); its field told has items, sources and changes as the last signal found them
KEYS[2]  events that have not ended, ZSET story -> second of the newest source
KEYS[3]  peaks of events that have ended, ZSET story -> most new sources within an hour
KEYS[4]  grants that are not confirmed, HASH token -> "<second by the claimant's clock> <story, hexadecimal> <items>
         <sources> <changes, as told before> <note>", all on one line

ARGV[1]  document key of the story's first document
ARGV[2]  numbers in this order: bit of the level (1 watch, 2 breaking, 4 ended, 0 an update), second of the newest source
         as far as the claimant knows, peak, seconds the peaks are kept, window (seconds); items, sources and changes as
         far as the claimant knows
ARGV[3]  token of the claim, may be empty    ARGV[4] its note    ARGV[5] second by the claimant's clock

Returns the story's fields and values, with told as it was before, if the claim is granted, else nil. A token that was
granted is granted again.
The rules are those of index/membership.py.
]]
local MOST_GRANTS = 10000
local UPDATE, WATCH, BREAKING, ENDED = 0, 1, 2, 4

local numbers = {}
for number in string.gmatch(ARGV[2], '%S+') do numbers[#numbers + 1] = tonumber(number) end
local level, last_source, peak, peak_seconds, window, items, sources, changes = unpack(numbers)

-- The latest second among entries of 8 bytes that hold it from this byte on.
local function newest_of(entries, from)
    local newest = 0
    for at = from, #entries, 8 do newest = math.max(newest, (struct.unpack('>I4', entries, at))) end
    return newest
end

-- A key of another type fails now, before anything is written.
redis.call('ZCARD', KEYS[2])
redis.call('ZCARD', KEYS[3])

local kept = redis.call('HMGET', KEYS[1], 'levels', 'sources', 'ids', 'told')
if not kept[1] then
    redis.call('ZREM', KEYS[2], ARGV[1])
    return nil
end
local granted = ARGV[3] ~= '' and redis.call('HGET', KEYS[4], ARGV[3])
if granted then
    local fields = redis.call('HGETALL', KEYS[1])
    fields[#fields + 1] = 'told'
    fields[#fields + 1] = string.match(granted, '^%d+ %x+ (%d+ %d+ %d+)') or ''
    return fields
end

local levels = tonumber(kept[1])
local newest = kept[2] ~= '' and newest_of(kept[2], 5) or newest_of(kept[3], 1)
local is_open = levels > 0 and levels < ENDED
local told_items, told_sources, told_changes = string.match(kept[4] or '', '^(%d+) (%d+) (%d+)$')
told_items, told_sources, told_changes = tonumber(told_items or 0), tonumber(told_sources or 0), tonumber(told_changes or 0)

-- The rule of Extent.warrants_update.
local function is_news()
    local before, now = told_sources, sources
    if before <= 1 then before, now = told_items, items end
    return (now >= 2 * before and before > 0) or changes > told_changes
end

-- Never less than was told before.
local function tell()
    local told = string.format('%d %d %d', math.max(items, told_items), math.max(sources, told_sources),
        math.max(changes, told_changes))
    redis.call('HSET', KEYS[1], 'told', told)
end

if level == WATCH and levels ~= 0 then return nil end
if level == BREAKING and levels % ENDED >= BREAKING then return nil end
if level == UPDATE and not (is_open and is_news()) then return nil end
if level == ENDED and (not is_open or newest > last_source) then return nil end

local as_it_was = redis.call('HGETALL', KEYS[1])
if level == ENDED then
    redis.call('HSET', KEYS[1], 'levels', levels + ENDED)
    redis.call('ZREM', KEYS[2], ARGV[1])
    if peak > 0 then
        redis.call('ZADD', KEYS[3], peak, ARGV[1])
        redis.call('EXPIRE', KEYS[3], peak_seconds)
    end
elseif level == UPDATE then
    tell()
else
    redis.call('HSET', KEYS[1], 'levels', level == WATCH and WATCH or WATCH + BREAKING)
    tell()
    redis.call('ZADD', KEYS[2], newest, ARGV[1])
    redis.call('EXPIRE', KEYS[2], 2 * window)
end
if ARGV[3] ~= '' and redis.call('HLEN', KEYS[4]) < MOST_GRANTS then
    local story = string.gsub(ARGV[1], '.', function(byte) return string.format('%02x', string.byte(byte)) end)
    redis.call('HSET', KEYS[4], ARGV[3], table.concat({ ARGV[5], story, told_items, told_sources,
        told_changes, ARGV[4] }, ' '))
    redis.call('EXPIRE', KEYS[4], 2 * window)
end
return as_it_was
