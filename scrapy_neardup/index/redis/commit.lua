--[[
Writes, unless somebody has changed what the caller read. It knows no rule: Python decides what is written.

KEYS are the keys that are read or written. ARGV: [1] how many answers are compared; for each of these the answer that is
expected, an empty string if there is nothing, and a command that reads; then how many band hashes there are, 0 if no
document is posted; for a document what ``posted`` takes; then the commands that write. A command is its name, the number
of its key, the number of its arguments, and its arguments.

Returns 1 if it wrote, else the first answer that differs, or 0 if others posted a document that may be a candidate. If a
key is of another type than a command needs, nothing is written.

A band hash has the postings of a generation. Its fields: "bits", how many bits name a shard; "version", of the last
commit; and for each shard, which is the high bits of a 32-bit key in 3 bytes, its postings. A posting is the tag, the low
16 bits of the key, then the seconds since the generation's start (2 or 3 bytes), and the hash part of the document's key
(4 bytes).
]]
local find, sub, byte = string.find, string.sub, string.byte
local at, typed = 0, {} -- ``typed`` has the keys that a command has read or written: their types are right

local function take()
    at = at + 1
    return ARGV[at]
end

local function call()
    local name, key, count = take(), KEYS[tonumber(take())], tonumber(take())
    at, typed[key] = at + count, true
    if name == 'EXPIRE' then -- whoever has a longer window needs the key for longer; EXPIRE GT needs Redis 7
        local left = redis.pcall('TTL', key)
        if type(left) == 'number' and left > tonumber(ARGV[at]) then return 1 end
    end
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

-- Whether others posted a document that shares keys that count enough together, or removed one that the caller knows.
-- ``keys`` are those of the document, 4 bytes each; ``weights`` what each of them counts, a byte each; ``least`` is how
-- much the keys count that two documents must share. ``newest`` has the posting that was added last to each key, as the
-- caller knows it: number of the key (2 bytes), and the posting without its tag.
local function is_changed(hash, bits, keys, weights, least, newest, size)
    local shards, cut_off = {}, 2 ^ (24 - bits)
    for place = 1, #keys, 4 do
        local first = struct.unpack('>I3', keys, place)
        shards[#shards + 1] = struct.pack('>I3', first - first % cut_off)
    end
    local known, changed = {}, {}
    for place = 1, #newest, size do
        known[struct.unpack('>I2', newest, place)] = sub(newest, place + 2, place + size - 1)
    end
    local function counts(document, number)
        changed[document] = (changed[document] or 0) + byte(weights, number)
        return changed[document] >= least
    end
    for number, value in ipairs(redis.call('HMGET', hash, unpack(shards))) do
        local tag = sub(keys, 4 * number - 1, 4 * number)
        local last, found, each = known[number - 1], value and places(value, tag, size) or {}, nil
        for index = #found, 1, -1 do
            each = sub(value, found[index] + 2, found[index] + size - 1)
            if each == last then break end
            if counts(each, number) then return true end
        end
        if last and each ~= last and counts(last, number) then return true end
    end
    return false
end

-- Returns how a document is posted: the own band hash and what HSET takes; false if others posted a candidate. It takes
-- ``keys``, ``weights`` and ``least`` as ``is_changed``; bytes of a posting; the version that the own band hash gets; for
-- each shard that grows its name (3 bytes), and how many postings it gets (a byte); these postings; and the postings that
-- have to go: number of the shard (2 bytes), and the posting. Then for each band hash, the own one last: the number of its
-- key, and bits, version and newest postings as the caller read them.
local function posted(hashes)
    local keys, weights, least, size, version = take(), take(), tonumber(take()), tonumber(take()), take()
    local names, counts, postings, gone = take(), take(), take(), take()
    local read, absent = {}, {}
    for index = 1, hashes do
        read[index] = { KEYS[tonumber(take())], take(), take(), take() }
        if read[index][3] == '' then absent[#absent + 1] = read[index][1] end
    end
    local has_come = #absent > 0 and redis.call('EXISTS', unpack(absent)) > 0 -- most generations have no postings yet
    local hash, bits, seen, newest
    for index = 1, hashes do
        hash, bits, seen, newest = unpack(read[index])
        local now = (seen ~= '' or has_come) and redis.call('HMGET', hash, 'bits', 'version') or {}
        if (now[2] or '') ~= seen then
            if (now[1] or '') ~= bits then return false end
            if is_changed(hash, tonumber(bits), keys, weights, least, newest, size) then return false end
            -- The caller knows ``version`` for documents that it read before this commit. Their keys were not compared.
            if index == hashes then version = version .. '+' end
        end
    end
    local shards = {}
    for number = 1, #counts do shards[number] = sub(names, 3 * number - 2, 3 * number) end
    local values, fields, from = {}, { 'bits', bits, 'version', version }, 1
    if #shards > 0 then values = redis.call('HMGET', hash, unpack(shards)) end
    for at_gone = 1, #gone, size + 2 do
        local number, posting = struct.unpack('>I2', gone, at_gone), sub(gone, at_gone + 2, at_gone + size + 1)
        for _, start in ipairs(places(values[number] or '', posting, size)) do
            values[number] = sub(values[number], 1, start - 1) .. sub(values[number], start + size)
        end
    end
    for number, shard in ipairs(shards) do
        local to = from + size * byte(counts, number)
        fields[2 * number + 3] = shard
        fields[2 * number + 4] = (values[number] or '') .. sub(postings, from, to - 1)
        from = to
    end
    return hash, fields
end

for _ = 1, tonumber(take()) do
    local expected = take()
    local answer = call() or ''
    if tostring(answer) ~= expected then return answer end
end
local hashes, hash, fields = tonumber(take()), nil, nil
if hashes > 0 then hash, fields = posted(hashes) end
if hash == false then return 0 end
local place = at + 1
while place < #ARGV do
    local name, key = ARGV[place], KEYS[tonumber(ARGV[place + 1])]
    local wanted = name == 'XADD' and 'stream' or 'hash'
    local found = (typed[key] or name == 'EXPIRE') and wanted or redis.call('TYPE', key).ok
    if found ~= 'none' and found ~= wanted then return redis.error_reply('WRONGTYPE ' .. key) end
    place = place + 3 + ARGV[place + 2]
end
if hash then redis.call('HSET', hash, unpack(fields)) end
while at < #ARGV do call() end
return 1
