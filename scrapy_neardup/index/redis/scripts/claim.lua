--[[
Grants a level of an event, or an update of it, to the first who claims it.

KEYS[1]  story (see story.lua)
KEYS[2]  events that have not ended, ZSET story -> second of the newest source
KEYS[3]  events that have ended, ZSET story and its sources -> second of the newest source
KEYS[4]  grants that are not confirmed, HASH token -> "<second by the claimant's clock> <story, hexadecimal> <items>
         <sources> <changes, at the signal before> <note>", all on one line

ARGV in the order of the names below: document key of the story's first document; bit of the level, 0 for an update; what
the claimant knows of the story: second of the newest source, items, sources, changes; window (seconds); seconds that
events that have ended are kept; token of the claim, may be empty, and its note; second by the claimant's clock.

Returns the story's fields and values, with "told" as it was before, if the claim is granted, else nil. A token that was
granted is granted again.
]]
local story, bit, last_source, items, sources, changes, window, ended_seconds, token, note, now = unpack(ARGV)
local level = tonumber(bit)
local extent = { tonumber(items), tonumber(sources), tonumber(changes) }
local UPDATE = 0

-- If a key has another type, fail now, before anything is written.
redis.call('ZCARD', KEYS[2])
redis.call('ZCARD', KEYS[3])

local stored = redis.call('HMGET', KEYS[1], 'joined', 'levels', 'sources', 'ids', 'told', 'moved')
if not stored[1] then
    redis.call('ZREM', KEYS[2], story)
    return nil
end
local granted = token ~= '' and redis.call('HGET', KEYS[4], token)
if granted then
    local fields = redis.call('HGETALL', KEYS[1])
    fields[#fields + 1] = 'told'
    fields[#fields + 1] = string.match(granted, '^%d+ %x+ (%d+ %d+ %d+)') or ''
    return fields
end

if stored[6] and stored[6] ~= '' then return nil end -- its levels are those of another story now

local levels, newest = tonumber(stored[2] or 0), newest_source(stored[3] or '', stored[4] or '')
local is_open = levels > 0 and levels < ENDED
local signalled = { 0, 0, 0 }
if string.match(stored[5] or '', '^%d+ %d+ %d+$') then
    for index, number in ipairs({ string.match(stored[5], '(%d+) (%d+) (%d+)') }) do signalled[index] = tonumber(number) end
end

-- The rule of Extent.warrants_update: the sources have doubled (the items, if there was at most one source), or a
-- further figure has been confirmed.
local function is_news()
    local counted = signalled[2] > 1 and 2 or 1
    return (extent[counted] >= 2 * signalled[counted] and signalled[counted] > 0) or extent[3] > signalled[3]
end

if level == WATCH and levels ~= 0 then return nil end
if level == BREAKING and levels % ENDED >= BREAKING then return nil end
if level == UPDATE and not (is_open and is_news()) then return nil end
if level == ENDED and (not is_open or newest > tonumber(last_source)) then return nil end

local as_it_was = redis.call('HGETALL', KEYS[1])
if level == ENDED then
    redis.call('HSET', KEYS[1], 'levels', levels + ENDED)
    redis.call('ZREM', KEYS[2], story)
    if stored[3] and stored[3] ~= '' then
        redis.call('ZADD', KEYS[3], newest, story .. stored[3])
        local gone = redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', newest - ended_seconds - 1, 'LIMIT', 0, 1000)
        if #gone > 0 then redis.call('ZREM', KEYS[3], unpack(gone)) end
        redis.call('EXPIRE', KEYS[3], ended_seconds)
    end
else
    -- Do not store less than was signalled before.
    local most = {}
    for index = 1, 3 do most[index] = string.format('%d', math.max(extent[index], signalled[index])) end
    redis.call('HSET', KEYS[1], 'told', table.concat(most, ' '))
    if level ~= UPDATE then
        redis.call('HSET', KEYS[1], 'levels', level == WATCH and WATCH or WATCH + BREAKING)
        redis.call('ZADD', KEYS[2], newest, story)
        redis.call('EXPIRE', KEYS[2], 2 * window)
    end
end
if token ~= '' and redis.call('HLEN', KEYS[4]) < MOST_GRANTS then
    local hexadecimal = string.gsub(story, '.', function(byte) return string.format('%02x', string.byte(byte)) end)
    local grant = table.concat({ now, hexadecimal, signalled[1], signalled[2], signalled[3], note }, ' ')
    redis.call('HSET', KEYS[4], token, grant)
    redis.call('EXPIRE', KEYS[4], 2 * window)
end
return as_it_was
