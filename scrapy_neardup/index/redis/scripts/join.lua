--[[
Adds a document that matched to its story, in one step. Joining again changes nothing.

KEYS[1]  story (see story.lua)
KEYS[2]  stories of the namespace, ZSET story -> the latest second of any member
KEYS[3]  events that have not ended, ZSET story -> second of the newest source

ARGV in the order of the names below: document key, packed member, hash of the owner and language of the story's first
document and of the one that joins; whether that one is counted as an item, and whether it is a copy ("1" or "0"); second
at which it counts; hashes of its figures before they changed, after they changed, and of all it has; a packed neighbour, or
nothing; document key under which a run that died registered the same page, or nothing (if this key is a member, the joining
document is not counted as a further item); window (seconds).

Returns the counters in the order of COUNTERS. If this story became a part of another one, nothing is joined.
]]
local story, first_packed, first_owner, first_language, key, packed, owner, language, counted, copy, time, before, after,
    figures, neighbour, registered_before, window = unpack(ARGV)

local stored = redis.call('HMGET', KEYS[1], unpack(COUNTERS))
local counters, before_joining = {}, {} -- by name
for index, name in ipairs(COUNTERS) do
    before_joining[name] = index <= NUMBERS and tonumber(stored[index] or 0) or stored[index] or ''
    counters[name] = before_joining[name]
end
local to_keep = {} -- names and values of the fields of the story that are written

-- Return the position of these bytes in an entry, or nil. Each entry has ``size`` bytes, and has these bytes at its
-- beginning, or after ``offset`` bytes.
local function place(entries, bytes, size, offset)
    local from = 1
    while true do
        local at = string.find(entries, bytes, from, true)
        if not at or (at - 1) % size == (offset or 0) then return at end
        from = at + 1
    end
end

-- Note the source of an item. Return whether its owner is new to the story.
local function add_source(owner, second)
    local sources = counters.sources
    if owner == NO_OWNER then return false end
    local at = place(sources, owner, SOURCE_BYTES)
    if at then
        -- Compare numbers, because Lua compares strings in the order of the server's locale.
        if second_of(second) < second_of(sources, at + 4) then
            counters.sources = sub(sources, 1, at + 3) .. second .. sub(sources, at + SOURCE_BYTES)
        end
        return false
    end
    if #sources >= MOST_SOURCES * SOURCE_BYTES then return false end
    counters.sources = sources .. owner .. second
    return true
end

local function count_language(language)
    local counts, known = {}, false
    for name, count in string.gmatch(counters.languages, '(%S+) (%d+)') do
        if name == language then
            known = true
            count = count + 1
        end
        counts[#counts + 1] = name .. ' ' .. count
    end
    if not known and #counts < MOST_LANGUAGES then counts[#counts + 1] = language .. ' 1' end
    counters.languages = table.concat(counts, ' ')
end

local function add(key, second, packed, owner, language, is_counted, is_copy, is_news)
    counters.joined = counters.joined + 1
    counters.last = math.max(counters.last, second_of(key))
    if is_counted then
        counters.items = counters.items + 1
        if is_copy then counters.copies = counters.copies + 1 end
        counters.ids = sub(counters.ids .. second .. key, -MOST_ITEM_TIMES * ITEM_BYTES)
        is_news = add_source(owner, second) or is_news
        if language ~= '' then count_language(language) end
    end
    if counters.joined <= MOST_MEMBERS_KEPT or is_news then
        to_keep[#to_keep + 1] = key
        to_keep[#to_keep + 1] = struct.pack('>I4', counters.joined) .. packed
    end
end

-- Note that the owner prints its figures. Confirm each change whose value enough owners print.
local function support_values()
    if owner == NO_OWNER or figures == '' then return end
    local sources = #counters.sources / SOURCE_BYTES
    local needed = math.min(MOST_SUPPORT, math.max(LEAST_SUPPORT, math.ceil(sources * SUPPORT_SHARE)))
    local values, printed = {}, {} -- values in their order; by value, the first change and the owners
    for at = 1, #counters.said, PRINTED_BYTES do
        local value, by = sub(counters.said, at, at + 3), sub(counters.said, at + 4, at + 7)
        -- A settled value has no other entry.
        if by ~= SETTLED and (printed[value] or place(figures, value, VALUE_BYTES)) then
            if not printed[value] then
                values[#values + 1] = value
                printed[value] = { change = sub(counters.said, at + 8, at + PRINTED_BYTES - 1), owners = {}, count = 0 }
            end
            printed[value].owners[by] = true
            if by ~= NO_OWNER then printed[value].count = printed[value].count + 1 end
        end
    end
    for _, value in ipairs(values) do
        local each = printed[value]
        if not each.owners[owner] then
            if each.count + 1 >= needed then
                counters.changes = counters.changes .. each.change
                local others = {}
                for at = 1, #counters.said, PRINTED_BYTES do
                    local entry = sub(counters.said, at, at + PRINTED_BYTES - 1)
                    if sub(entry, 1, 4) ~= value then others[#others + 1] = entry end
                end
                counters.said = table.concat(others) .. value .. SETTLED .. each.change
            elseif #counters.said < MOST_VALUES * PRINTED_BYTES then
                counters.said = counters.said .. value .. owner .. each.change
            end
        end
    end
end

-- Note the values that nobody of the story has printed. Return whether there is one.
local function note_values(values, owner, is_numbered)
    local is_new = false
    for at = 1, #values, VALUE_BYTES do
        local value, number = sub(values, at, at + VALUE_BYTES - 1), is_numbered and (at - 1) / VALUE_BYTES or 0
        local is_full = #counters.said >= MOST_VALUES * PRINTED_BYTES
        if value ~= NO_VALUE and not is_full and not place(counters.said, value, PRINTED_BYTES) then
            counters.said = counters.said .. value .. owner .. key .. string.char(number)
            is_new = true
        end
    end
    return is_new
end

-- Keep the neighbour, unless it is the story itself, a part of it, or is kept already. Damaged neighbours are forgotten.
local function add_neighbour()
    local new, at, count = unpack_neighbour(neighbour, 1), 1, 0
    if not new or new.story == story or place(counters.united, new.story, KEY_BYTES) then return end
    while at <= #counters.neighbours do
        local known
        known, at = unpack_neighbour(counters.neighbours, at)
        if not known then
            counters.neighbours, count = '', 0
            break
        end
        if known.story == new.story then return end
        count = count + 1
    end
    if count < MOST_NEIGHBOURS then counters.neighbours = counters.neighbours .. neighbour end
end

local function is_member(document)
    return document == story or place(counters.ids, document, ITEM_BYTES, 4)
        or redis.call('HEXISTS', KEYS[1], document) == 1
end

if counters.moved ~= '' then
    -- The caller joins the other story instead. Remember where this one went for as long as documents come.
    redis.call('EXPIRE', KEYS[1], 2 * window)
    redis.call('ZADD', KEYS[2], math.max(counters.last, second_of(key)), story)
elseif not is_member(key) then
    local is_again = registered_before ~= '' and is_member(registered_before)
    if counters.joined == 0 then
        add(story, sub(story, 1, 4), first_packed, first_owner, first_language, true, false, false)
    end
    note_values(before, SETTLED, false)
    local is_news = note_values(after, owner, true)
    local second = struct.pack('>I4', time)
    add(key, second, packed, owner, language, counted == '1' and not is_again, copy == '1', is_news)
    support_values()
    add_neighbour()
    for _, name in ipairs(COUNTERS) do
        if counters[name] ~= before_joining[name] then
            to_keep[#to_keep + 1] = name
            to_keep[#to_keep + 1] = counters[name]
        end
    end
    redis.call('HSET', KEYS[1], unpack(to_keep))
    -- A member dated far ahead does not keep the story for ever.
    redis.call('EXPIRE', KEYS[1], window + math.min(window, counters.last - second_of(key)))
    redis.call('ZADD', KEYS[2], counters.last, story)
    redis.call('EXPIRE', KEYS[2], 2 * window)
    if counters.levels > 0 and counters.levels < ENDED then
        redis.call('ZADD', KEYS[3], newest_source(counters.sources, counters.ids), story)
        redis.call('EXPIRE', KEYS[3], 2 * window)
    end
end
local answer = {}
for index, name in ipairs(COUNTERS) do answer[index] = counters[name] end
return answer
