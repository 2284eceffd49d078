--[[
Registers a document, unless its match is gone, or somebody registered another candidate since the caller read its postings.

KEYS[1]   record hash of the document's slice
KEYS[2]   record hash that has its match
KEYS[3]   band hash of the document's own generation
KEYS[4..] band hashes of the other generations in the window

ARGV in the order of the names below: document key; its record; document key of its match, may be empty; seconds until the
records and the bands expire; its 32-bit keys, 4 bytes each; what each of them counts, a byte each; how much the keys count
that two documents must share; its posting without a tag; changes of crowded keys: number of the key (2 bytes), and the
posting that the document's own replaces, or the document's own if that is not kept; the version that the own generation
gets; how many bits name a shard in it. Then for each band hash: bits and version as the caller read them, and the postings
as ``is_changed`` wants them.

A band hash has the postings of a generation. Its fields: "bits", how many bits name a shard; "version", of the last commit;
and for each shard, which is the high bits of a 32-bit key in 3 bytes, its postings. A posting is a tag, the low 16 bits of
the key, then the seconds since the generation's start (2 or 3 bytes), and the hash part of the document's key (4 bytes).

Returns 1 if the document is registered, 0 if the caller has to read again, and the record that is stored under the
document's key if there is one.
]]
local key, record, match, record_seconds, band_seconds, keys, weights, least, posting, crowded, version, own_bits =
    unpack(ARGV)
local SIZE, OF_BANDS = #posting + 2, 13 -- ARGV[OF_BANDS] is the first one that is about KEYS[3]
local find, sub, byte, char = string.find, string.sub, string.byte, string.char

local stored = redis.call('HGET', KEYS[1], key)
if stored then return stored end
if match ~= '' and not redis.call('HGET', KEYS[2], match) then return 0 end

-- The names of the shards of the keys, for a number of bits.
local function shards_of(bits)
    local shards, cut_off = {}, 2 ^ (24 - bits)
    for at = 1, #keys, 4 do
        local third = byte(keys, at + 2)
        shards[#shards + 1] = sub(keys, at, at + 1) .. char(third - third % cut_off)
    end
    return shards
end

local function tag_of(number)
    return sub(keys, 4 * number - 1, 4 * number)
end

-- Where these bytes begin a posting in a value.
local function places(value, bytes)
    local found, from = {}, 1
    while true do
        local at = find(value, bytes, from, true)
        if not at then return found end
        local is_posting = (at - 1) % SIZE == 0
        if is_posting then found[#found + 1] = at end
        from = is_posting and at + SIZE or at + 1
    end
end

-- Whether a document was added to keys that count enough together, or one that the caller knows is gone. ``newest`` has the
-- posting that was added last to each key, as the caller knows it: number of the key (2 bytes), and the posting.
local function is_changed(values, newest)
    local known, changed = {}, {}
    for at = 1, #newest, SIZE do known[struct.unpack('>I2', newest, at)] = sub(newest, at + 2, at + SIZE - 1) end
    local function counts(document, number)
        changed[document] = (changed[document] or 0) + byte(weights, number)
        return changed[document] >= tonumber(least)
    end
    for number, value in ipairs(values) do
        local last, found = known[number - 1], value and places(value, tag_of(number)) or {}
        local index, each = #found, nil
        while index > 0 do
            each = sub(value, found[index] + 2, found[index] + SIZE - 1)
            if each == last then break end
            if counts(each, number) then return true end
            index = index - 1
        end
        if last and each ~= last and counts(last, number) then return true end
    end
    return false
end

local shards = shards_of(tonumber(own_bits))
local values = redis.call('HMGET', KEYS[3], unpack(shards))
for index = 3, #KEYS do
    local bits, seen, newest = unpack(ARGV, OF_BANDS + 3 * (index - 3), OF_BANDS + 3 * (index - 3) + 2)
    local now = redis.call('HMGET', KEYS[index], 'bits', 'version')
    if (now[2] or '') ~= seen then
        if (now[1] or '') ~= bits then return 0 end
        local stored_now = index == 3 and values or redis.call('HMGET', KEYS[index], unpack(shards_of(tonumber(bits))))
        if is_changed(stored_now, newest) then return 0 end
        -- The caller knows ``version`` already for documents that it read before this commit. Their keys were not compared.
        if index == 3 then version = version .. '+' end
    end
end

local replaced = {}
for at = 1, #crowded, SIZE do replaced[struct.unpack('>I2', crowded, at)] = sub(crowded, at + 2, at + SIZE - 1) end
local fields, place_of = { 'bits', own_bits, 'version', version }, {}
for number, shard in ipairs(shards) do
    local place, tag, gone = place_of[shard], tag_of(number), replaced[number - 1]
    if not place then
        place = #fields + 2
        place_of[shard] = place
        fields[place - 1], fields[place] = shard, values[number] or ''
    end
    if gone ~= posting then
        local value = fields[place]
        for _, at in ipairs(gone and places(value, tag .. gone) or {}) do
            value = sub(value, 1, at - 1) .. sub(value, at + SIZE)
        end
        fields[place] = value .. tag .. posting
    end
end
redis.call('HSET', KEYS[1], key, record)
redis.call('EXPIRE', KEYS[1], record_seconds)
redis.call('HSET', KEYS[3], unpack(fields))
redis.call('EXPIRE', KEYS[3], band_seconds)
return 1
