--[[
Adds a document that matched to its story, in one step. Joining again changes nothing.

KEYS[1]  story, HASH. Fields: joined, items, copies, levels (bits: 1 watch, 2 breaking, 4 ended), last (second),
         ids (document keys of the newest items, 8 bytes each), sources (hash of the owner and second of the first
         item, 4 bytes each), said (values of figures that changed: hash of the value 4, owner who said it first 4 or
         SETTLED, key of that document 8, which of its changes 1), changes (those a second owner confirmed: key of the
         document that brought it 8, which of its changes 1), languages ("en 5 de 1"), told (see claim.lua),
         neighbours (other stories, one behind the other: key 8, length of url 2, of title 1, url, title);
         and of each member kept, by its document key: its number (4) and what is packed of it.
KEYS[2]  stories of the namespace, ZSET story -> the latest second of any member
KEYS[3]  events that have not ended, ZSET story -> second of the newest source

ARGV[1]  document key of the story's first document
ARGV[2]  the first document's packed member    ARGV[3]  its owner's hash, zeros where there is none
ARGV[4]  document key of the one that joins    ARGV[5]  its packed member     ARGV[6]  its owner's hash
ARGV[7]  numbers in this order: 1 where it counts as an item, 1 where it is a copy, window (seconds),
         most items, most sources, most members kept, most values, most languages, most
         neighbours
ARGV[8]  language of the one that joins, may be empty
ARGV[9]  values of its figures before they changed, 4 bytes each, zeros for none    ARGV[10]  and after
ARGV[11] values of all its figures    ARGV[12] a neighbour as above, may be empty
ARGV[13] language of the story's first document, may be empty
ARGV[14] document key under which a run that died registered the same page, may be empty: where that is a member, the
         one that joins is no further item

Returns joined, items, copies, levels, last, ids, sources, said, changes, told, languages, neighbours. The rules are those
of index/membership.py.
]]
local ENTRY, VALUE, SAID = 8, 4, 17
local SETTLED, NO_VALUE = string.rep('\255', 4), string.rep('\0', 4)
local NO_OWNER = string.rep('\0', 4)

local numbers = {}
for number in string.gmatch(ARGV[7], '%S+') do numbers[#numbers + 1] = tonumber(number) end
local counts, is_copy, window, most_items, most_sources, most_logged, most_values, most_languages,
    most_neighbours = unpack(numbers)

local function second_of(document)
    return struct.unpack('>I4', document)
end

-- The latest second among entries that hold it from this byte on.
local function newest_of(entries, from)
    local newest = 0
    for at = from, #entries, ENTRY do newest = math.max(newest, (struct.unpack('>I4', entries, at))) end
    return newest
end

-- Where an entry of a size begins with these bytes, or nil.
local function place(entries, bytes, size)
    local from = 1
    while true do
        local at = string.find(entries, bytes, from, true)
        if not at or (at - 1) % (size or ENTRY) == 0 then return at end
        from = at + 1
    end
end

local kept = redis.call('HMGET', KEYS[1], 'joined', 'items', 'copies', 'levels', 'last', 'ids', 'sources', 'said',
    'changes', 'told', 'languages', 'neighbours')
local joined, items, copies, levels, last =
    tonumber(kept[1] or 0), tonumber(kept[2] or 0), tonumber(kept[3] or 0), tonumber(kept[4] or 0), tonumber(kept[5] or 0)
local ids, sources, said = kept[6] or '', kept[7] or '', kept[8] or ''
local changes, told, languages, neighbours = kept[9] or '', kept[10] or '', kept[11] or '', kept[12] or ''
local changed = {}

-- True where the owner is new to the story.
local function add_source(owner, second)
    if owner == NO_OWNER then return false end
    local at = place(sources, owner)
    if at then
        -- Not as strings: Lua compares those as the server's language orders them.
        if second_of(second) < second_of(string.sub(sources, at + 4, at + 7)) then
            sources = string.sub(sources, 1, at + 3) .. second .. string.sub(sources, at + ENTRY)
        end
        return false
    end
    if #sources >= most_sources * ENTRY then return false end
    sources = sources .. owner .. second
    return true
end

local function add(key, packed, owner, counted, copy, brings_news)
    joined = joined + 1
    last = math.max(last, second_of(key))
    local new_source = false
    if counted then
        items = items + 1
        copies = copies + copy
        ids = string.sub(ids .. key, -most_items * ENTRY)
        new_source = add_source(owner, string.sub(key, 1, 4))
    end
    if joined <= most_logged or new_source or brings_news then
        changed[#changed + 1] = key
        changed[#changed + 1] = struct.pack('>I4', joined) .. packed
    end
end

-- One item more in a language.
local function speak(language)
    local counted, others, known = {}, 0, false
    for name, count in string.gmatch(languages, '(%S+) (%d+)') do
        if name == language then
            known = true
            count = count + 1
        end
        others = others + 1
        counted[#counted + 1] = name .. ' ' .. count
    end
    if not known and others < most_languages then counted[#counted + 1] = language .. ' 1' end
    languages = table.concat(counted, ' ')
end

-- A change is confirmed by a second owner; where nobody owns the first document, it is the first owner's.
local function confirm(owner, values)
    if owner == NO_OWNER or values == '' then return end
    for at = 1, #said, SAID do
        local first = string.sub(said, at + 4, at + 7)
        if first ~= SETTLED and first ~= owner and place(values, string.sub(said, at, at + 3), VALUE) then
            if first ~= NO_OWNER then changes = changes .. string.sub(said, at + 8, at + 16) end
            said = string.sub(said, 1, at + 3) .. (first == NO_OWNER and owner or SETTLED) .. string.sub(said, at + 8)
        end
    end
end

-- Note the values that nobody of the story had said; true where there is one.
local function note(values, owner, numbered)
    local new = false
    for at = 1, #values, VALUE do
        local value = string.sub(values, at, at + VALUE - 1)
        if value ~= NO_VALUE and #said < most_values * SAID and not place(said, value, SAID) then
            said = said .. value .. owner .. ARGV[4] .. string.char(numbered and (at - 1) / VALUE or 0)
            new = true
        end
    end
    return new
end

-- Note another story; not this one, and none twice.
local function meet(neighbour)
    if neighbour == '' or string.sub(neighbour, 1, 8) == ARGV[1] then return end
    local at, count = 1, 0
    while at <= #neighbours do
        if string.sub(neighbours, at, at + 7) == string.sub(neighbour, 1, 8) then return end
        local url, title = struct.unpack('>I2B', neighbours, at + 8)
        at = at + 11 + url + title
        count = count + 1
    end
    if count < most_neighbours then neighbours = neighbours .. neighbour end
end

local function is_member(document)
    return document == ARGV[1] or place(ids, document) or redis.call('HEXISTS', KEYS[1], document) == 1
end

if not is_member(ARGV[4]) then
    if ARGV[14] ~= '' and is_member(ARGV[14]) then counts = 0 end
    if joined == 0 then
        add(ARGV[1], ARGV[2], ARGV[3], true, 0)
        if (ARGV[13] or '') ~= '' then speak(ARGV[13]) end
    end
    confirm(ARGV[6], ARGV[11])
    note(ARGV[9], SETTLED, false)
    local brings_news = note(ARGV[10], ARGV[6], true)
    add(ARGV[4], ARGV[5], ARGV[6], counts == 1, is_copy, brings_news)
    if counts == 1 and ARGV[8] ~= '' then speak(ARGV[8]) end
    meet(ARGV[12])
    redis.call('HSET', KEYS[1], 'joined', joined, 'items', items, 'copies', copies, 'levels', levels, 'last', last,
        'ids', ids, 'sources', sources, 'said', said, 'changes', changes, 'languages', languages,
        'neighbours', neighbours, unpack(changed))
    local second = second_of(ARGV[4])
    -- A member dated far ahead does not keep the story for ever.
    redis.call('EXPIRE', KEYS[1], window + math.min(window, last - second))
    redis.call('ZADD', KEYS[2], last, ARGV[1])
    redis.call('EXPIRE', KEYS[2], 2 * window)
    if levels > 0 and levels < 4 then
        local newest = sources ~= '' and newest_of(sources, 5) or newest_of(ids, 1)
        redis.call('ZADD', KEYS[3], newest, ARGV[1])
        redis.call('EXPIRE', KEYS[3], 2 * window)
    end
end
return { joined, items, copies, levels, last, ids, sources, said, changes, told, languages, neighbours }
