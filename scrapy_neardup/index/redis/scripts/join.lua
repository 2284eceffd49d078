--[[
Adds a document that matched to its story, in one step. Joining again changes nothing.

KEYS[1]  story (see story.lua)
KEYS[2]  stories of the namespace, ZSET story -> the latest second of any member
KEYS[3]  events that have not ended, ZSET story -> second of the newest source

ARGV in the order of the names below: document key, packed member, hash of the owner and language of the story's first
document and of the one that joins; whether that one is counted as an item, and whether it is a copy ("1" or "0"); hashes
of its figures before they changed, after they changed, and of all it has; a packed neighbour, or nothing; document key
under which a run that died registered the same page, or nothing: if that is a member, the one that joins is no further
item; window (seconds).

Returns the counters in the order of COUNTERS.
]]
local story, first_packed, first_owner, first_language, key, packed, owner, language, counted, copy, before, after, figures,
    neighbour, registered_before, window = unpack(ARGV)
local COUNTERS = { 'joined', 'items', 'copies', 'levels', 'last', 'ids', 'sources', 'said', 'changes', 'told', 'languages',
    'neighbours' }
local is_number = { joined = true, items = true, copies = true, levels = true, last = true }

local stored = redis.call('HMGET', KEYS[1], unpack(COUNTERS))
local now = {} -- the counters as they become
for index, name in ipairs(COUNTERS) do
    now[name] = is_number[name] and tonumber(stored[index] or 0) or stored[index] or ''
end
local to_keep = {}

-- Where the entry of so many bytes stands that begins with these bytes, or nil.
local function place(entries, bytes, size)
    local from = 1
    while true do
        local at = string.find(entries, bytes, from, true)
        if not at or (at - 1) % size == 0 then return at end
        from = at + 1
    end
end

-- Note the source of an item. Return whether its owner is new to the story.
local function add_source(owner, second)
    local sources = now.sources
    if owner == NO_OWNER then return false end
    local at = place(sources, owner, SOURCE_BYTES)
    if at then
        -- Not as strings: Lua compares those as the server's language orders them.
        if second_of(second) < second_of(sources, at + 4) then
            now.sources = sub(sources, 1, at + 3) .. second .. sub(sources, at + SOURCE_BYTES)
        end
        return false
    end
    if #sources >= MOST_SOURCES * SOURCE_BYTES then return false end
    now.sources = sources .. owner .. second
    return true
end

local function count_language(language)
    local counts, known = {}, false
    for name, count in string.gmatch(now.languages, '(%S+) (%d+)') do
        if name == language then
            known = true
            count = count + 1
        end
        counts[#counts + 1] = name .. ' ' .. count
    end
    if not known and #counts < MOST_LANGUAGES then counts[#counts + 1] = language .. ' 1' end
    now.languages = table.concat(counts, ' ')
end

local function add(key, packed, owner, language, is_counted, is_copy, is_news)
    now.joined = now.joined + 1
    now.last = math.max(now.last, second_of(key))
    if is_counted then
        now.items = now.items + 1
        if is_copy then now.copies = now.copies + 1 end
        now.ids = sub(now.ids .. key, -MOST_ITEM_TIMES * ITEM_BYTES)
        is_news = add_source(owner, sub(key, 1, 4)) or is_news
        if language ~= '' then count_language(language) end
    end
    if now.joined <= MOST_MEMBERS_KEPT or is_news then
        to_keep[#to_keep + 1] = key
        to_keep[#to_keep + 1] = struct.pack('>I4', now.joined) .. packed
    end
end

-- Confirm the changes that a second owner prints. If nobody owns the first document, this owner is the first.
local function confirm_changes()
    if owner == NO_OWNER or figures == '' then return end
    for at = 1, #now.said, PRINTED_BYTES do
        local first = sub(now.said, at + 4, at + 7)
        if first ~= SETTLED and first ~= owner and place(figures, sub(now.said, at, at + 3), VALUE_BYTES) then
            if first ~= NO_OWNER then now.changes = now.changes .. sub(now.said, at + 8, at + PRINTED_BYTES - 1) end
            now.said = sub(now.said, 1, at + 3) .. (first == NO_OWNER and owner or SETTLED) .. sub(now.said, at + 8)
        end
    end
end

-- Note the values that nobody of the story has printed. Return whether there is one.
local function note_values(values, owner, is_numbered)
    local is_new = false
    for at = 1, #values, VALUE_BYTES do
        local value, number = sub(values, at, at + VALUE_BYTES - 1), is_numbered and (at - 1) / VALUE_BYTES or 0
        local is_full = #now.said >= MOST_VALUES * PRINTED_BYTES
        if value ~= NO_VALUE and not is_full and not place(now.said, value, PRINTED_BYTES) then
            now.said = now.said .. value .. owner .. key .. string.char(number)
            is_new = true
        end
    end
    return is_new
end

-- Keep the neighbour, unless it is the story itself or is kept already.
local function add_neighbour()
    local new, at, count = unpack_neighbour(neighbour, 1), 1, 0
    if not new or new.story == story then return end
    while at <= #now.neighbours do
        local known
        known, at = unpack_neighbour(now.neighbours, at)
        if not known or known.story == new.story then return end
        count = count + 1
    end
    if count < MOST_NEIGHBOURS then now.neighbours = now.neighbours .. neighbour end
end

local function is_member(document)
    return document == story or place(now.ids, document, ITEM_BYTES) or redis.call('HEXISTS', KEYS[1], document) == 1
end

if not is_member(key) then
    local is_again = registered_before ~= '' and is_member(registered_before)
    if now.joined == 0 then add(story, first_packed, first_owner, first_language, true, false, false) end
    confirm_changes()
    note_values(before, SETTLED, false)
    local is_news = note_values(after, owner, true)
    add(key, packed, owner, language, counted == '1' and not is_again, copy == '1', is_news)
    add_neighbour()
    for _, name in ipairs(COUNTERS) do
        if name ~= 'told' then
            to_keep[#to_keep + 1] = name
            to_keep[#to_keep + 1] = now[name]
        end
    end
    redis.call('HSET', KEYS[1], unpack(to_keep))
    -- A member dated far ahead does not keep the story for ever.
    redis.call('EXPIRE', KEYS[1], window + math.min(window, now.last - second_of(key)))
    redis.call('ZADD', KEYS[2], now.last, story)
    redis.call('EXPIRE', KEYS[2], 2 * window)
    if now.levels > 0 and now.levels < ENDED then
        redis.call('ZADD', KEYS[3], newest_source(now.sources, now.ids), story)
        redis.call('EXPIRE', KEYS[3], 2 * window)
    end
end
local answer = {}
for index, name in ipairs(COUNTERS) do answer[index] = now[name] end
return answer
