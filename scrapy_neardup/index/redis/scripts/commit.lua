--[[
Writes, unless somebody has changed what the caller read. It knows no rule: Python decides what is written.

KEYS   the keys that are read or written
ARGV   [1] how many answers are compared; for each of these the answer that is expected, an empty string if there is
       nothing, and a command that reads; then how many band hashes there are, 0 if no document is posted; for a document
       what ``post`` takes; then the commands that write. A command is its name, the number of its key, the number of its
       arguments, and its arguments.

Returns 1 if it wrote, else the first answer that differs, or 0 if others posted a document that may be a candidate. If a
key is of another type than a command needs, what the commands before it wrote stays, and the caller may write it again.

A band hash has the postings of a generation. Its fields: "bits", how many bits name a shard; "version", of the last
commit; and for each shard, which is the high bits of a 32-bit key in 3 bytes, its postings. A posting is a tag, the low
16 bits of the key, then the seconds since the generation's start (2 or 3 bytes), and the hash part of the document's key
(4 bytes).
]]
local find, sub, byte, char = string.find, string.sub, string.byte, string.char
local at = 0

local function take()
    at = at + 1
    return ARGV[at]
end

local function call()
    local name, key, count = take(), KEYS[tonumber(take())], tonumber(take())
    at = at + count
    return redis.call(name, key, unpack(ARGV, at - count + 1, at))
end

-- Where these bytes begin a posting of this size in a value.
local function places(value, bytes, size)
    local found, from = {}, 1
    while true do
        local place = find(value, bytes, from, true)
        if not place then return found end
        local is_posting = (place - 1) % size == 0
        if is_posting then found[#found + 1] = place end
        from = is_posting and place + size or place + 1
    end
end

-- Returns the document's own band hash and its fields that change, nothing if others posted a candidate. It takes: the keys
-- of the document, 4 bytes each; what each of them counts, a byte each; how much the keys count that two documents must
-- share; its posting without a tag; changes of crowded keys: number of the key (2 bytes), and the posting that the
-- document's own replaces, or the document's own if that is not kept; the version that the own generation gets. Then for
-- each band hash, the own one first: the number of its key, and bits, version and newest postings as the caller read them.
local function post(hashes)
    local keys, weights, least, posting, crowded, version = take(), take(), tonumber(take()), take(), take(), take()
    local size = #posting + 2

    local function shards_of(bits)
        local shards, cut_off = {}, 2 ^ (24 - bits)
        for place = 1, #keys, 4 do
            local third = byte(keys, place + 2)
            shards[#shards + 1] = sub(keys, place, place + 1) .. char(third - third % cut_off)
        end
        return shards
    end

    local function tag_of(number)
        return sub(keys, 4 * number - 1, 4 * number)
    end

    -- Whether a document was added to keys that count enough together, or one that the caller knows is gone. ``newest``
    -- has the posting that was added last to each key, as the caller knows it: number of the key (2 bytes), and posting.
    local function is_changed(values, newest)
        local known, changed = {}, {}
        for place = 1, #newest, size do
            known[struct.unpack('>I2', newest, place)] = sub(newest, place + 2, place + size - 1)
        end
        local function counts(document, number)
            changed[document] = (changed[document] or 0) + byte(weights, number)
            return changed[document] >= least
        end
        for number, value in ipairs(values) do
            local last, found = known[number - 1], value and places(value, tag_of(number), size) or {}
            local index, each = #found, nil
            while index > 0 do
                each = sub(value, found[index] + 2, found[index] + size - 1)
                if each == last then break end
                if counts(each, number) then return true end
                index = index - 1
            end
            if last and each ~= last and counts(last, number) then return true end
        end
        return false
    end

    local own, own_bits, shards, values
    for index = 1, hashes do
        local hash, bits, seen, newest = KEYS[tonumber(take())], take(), take(), take()
        if index == 1 then
            own, own_bits, shards = hash, bits, shards_of(tonumber(bits))
            values = redis.call('HMGET', hash, unpack(shards))
        end
        local now = redis.call('HMGET', hash, 'bits', 'version')
        if (now[2] or '') ~= seen then
            if (now[1] or '') ~= bits then return nil end
            local stored = index == 1 and values or redis.call('HMGET', hash, unpack(shards_of(tonumber(bits))))
            if is_changed(stored, newest) then return nil end
            -- The caller knows ``version`` already for documents that it read before this commit. Their keys were not
            -- compared.
            if index == 1 then version = version .. '+' end
        end
    end

    local replaced = {}
    for place = 1, #crowded, size do
        replaced[struct.unpack('>I2', crowded, place)] = sub(crowded, place + 2, place + size - 1)
    end
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
            for _, start in ipairs(gone and places(value, tag .. gone, size) or {}) do
                value = sub(value, 1, start - 1) .. sub(value, start + size)
            end
            fields[place] = value .. tag .. posting
        end
    end
    return own, fields
end

for _ = 1, tonumber(take()) do
    local expected = take()
    local answer = call() or ''
    if tostring(answer) ~= expected then return answer end
end
local hashes = tonumber(take())
if hashes > 0 then
    local own, fields = post(hashes)
    if not own then return 0 end
    redis.call('HSET', own, unpack(fields))
end
while at < #ARGV do call() end
return 1
