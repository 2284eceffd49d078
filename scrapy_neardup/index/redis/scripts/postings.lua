--[[
How the candidates of a document are found by their postings, and how the document is registered. KEYS and ARGV:
candidates.lua.
]]
local document = unpack_record(packed_document)
local damaged = '' -- key of a document whose record is damaged

-- Return the record of the document if it was checked before. If its key belongs to another document, the document gets
-- the next key that is free. As SQLiteWindow.place.
local function find_place()
    local packed = redis.call('HGET', records_with(key), key)
    while packed do
        local record = unpack_record(packed)
        damaged = record and damaged or key
        if record and record.text_hash == document.text_hash and record.url_hash == document.url_hash then return record end
        local seconds, hash = struct.unpack('>I4I4', key)
        key = struct.pack('>I4I4', seconds, (hash + 1) % HASHES)
        packed = redis.call('HGET', records_with(key), key)
    end
    if key ~= ARGV[1] then
        document.original, document.story, document.candidate = key, key, key
        packed_document = pack_record(document)
    end
end
local known = find_place()

local tags = {}
for at = 3, #keys, 4 do tags[#tags + 1] = sub(keys, at, at + 1) end

local SECOND_BYTES = policy.generation_seconds > 65536 and 3 or 2
local POSTING_BYTES = 2 + SECOND_BYTES + 4
local POSTINGS_A_SHARD = 16 -- fewer make many fields, more make each check read and write much
local FEWEST_BITS, MOST_BITS = 16, 24
local BITS_OF_EMPTY_WINDOW = 18 -- with 100,000 documents a day a shard has 16 postings

-- The postings of one tag in one value: their positions.
local function positions(value, tag)
    local found, from = {}, 1
    while true do
        local at = find(value, tag, from, true)
        if not at then break end
        if (at - 1) % POSTING_BYTES == 0 then
            found[#found + 1] = at
            from = at + POSTING_BYTES
        else
            from = at + 1
        end
    end
    return found
end

-- Return the bits for a new generation: it gets as many shards as it will fill if documents keep coming at the rate of
-- the slices in the window.
local function bits_for_new_generation()
    local documents, busy = 0, 0
    for index = generations + 1, generations + slices do
        local length = redis.call('HLEN', KEYS[index])
        documents = documents + length
        if length > 0 then busy = busy + 1 end
    end
    if documents == 0 then return BITS_OF_EMPTY_WINDOW end
    local postings = documents / busy * policy.generation_seconds / policy.slice_seconds * #tags
    local bits = math.floor(math.log(postings / POSTINGS_A_SHARD) / math.log(2) + 0.5)
    return math.max(FEWEST_BITS, math.min(MOST_BITS, bits))
end

-- Return the names of the document's shards if a name has this many bits. Generations with the same number of bits
-- share the result.
local shards_of_bits = {}
local function shards_of(bits)
    local shards = shards_of_bits[bits]
    if shards then return shards end
    shards = {}
    local cut_off, names = 2 ^ (MOST_BITS - bits), {} -- only the high bits of the third byte belong to the name
    for at = 1, #keys, 4 do
        local third = byte(keys, at + 2)
        local last = names[third]
        if not last then
            last = char(third - third % cut_off)
            names[third] = last
        end
        shards[#shards + 1] = sub(keys, at, at + 1) .. last
    end
    shards_of_bits[bits] = shards
    return shards
end

local function bits_of(generation)
    local stored = redis.call('HGET', KEYS[generation], 'bits')
    local bits = stored and tonumber(stored)
    return bits and bits >= FEWEST_BITS and bits <= MOST_BITS and math.floor(bits) or nil
end

-- Return a posting as a number. Within a generation, these numbers are in the order of the document keys.
local AS_NUMBER = '>I' .. SECOND_BYTES .. 'I4'
local function order_of(value, at)
    local seconds, hash = struct.unpack(AS_NUMBER, value, at + 2)
    return seconds * HASHES + hash
end

local own_index = own_generation - first_generation + 1 -- in KEYS
local own_start = own_generation * policy.generation_seconds
local own_posting = struct.pack('>I' .. SECOND_BYTES, second - own_start) .. sub(key, 5, 8)

-- The keys of all candidates, and their weights by key.
local candidates, weights = {}, {}
local room = {} -- by key: how many more postings are read
local own_values, own_bits = {}, nil -- postings of the own generation by key, and the bits that name its shards
local is_crowded = {} -- by key: whether others of the own generation may have it too

-- Collect the newest postings of a key that lie in the window; a posting outside the window does not count. ``posted`` has
-- the weights of the postings of this generation, false for one outside the window.
local function collect(value, index, start, posted)
    local found = positions(value, tags[index])
    local left = room[index] or MOST_POSTINGS
    if #found > left then
        local orders = {}
        for _, at in ipairs(found) do orders[at] = order_of(value, at) end
        table.sort(found, function(a, b) return orders[a] > orders[b] end)
    end
    local weight = index <= identities and IDENTITY_WEIGHT or index > #tags - topic_keys and TOPIC_WEIGHT or TEXT_WEIGHT
    for _, at in ipairs(found) do
        if left == 0 then break end
        local posting = sub(value, at + 2, at + POSTING_BYTES - 1)
        local known = posted[posting]
        if known == nil then
            local seen = struct.unpack(AS_NUMBER, posting)
            known = math.abs(start + seen - second) <= policy.window and 0
        end
        posted[posting] = known and known + weight
        if known then left = left - 1 end
    end
    room[index] = left
end

-- Find the documents of the window that share keys of at least ``LEAST_WEIGHT``, the likeliest first.
local function find_candidates()
    for generation = generations, 1, -1 do
        local bits = bits_of(generation)
        local values = bits and redis.call('HMGET', KEYS[generation], unpack(shards_of(bits))) or {}
        if generation == own_index then own_values, own_bits = values, bits end
        local start, posted = (first_generation + generation - 1) * policy.generation_seconds, {}
        for index = 1, #values do
            local value = values[index]
            -- Most keys belong to no other document: one scan shows that.
            if value and find(value, tags[index], 1, true) then
                if generation == own_index then is_crowded[index] = true end
                collect(value, index, start, posted)
            end
        end
        -- Most postings share one key of the topic only. So a document key is packed for the others, not for each posting.
        for posting, weight in pairs(posted) do
            if weight and weight >= LEAST_WEIGHT then
                local seen, hash = struct.unpack(AS_NUMBER, posting)
                local candidate = struct.pack('>I4I4', start + seen, hash)
                candidates[#candidates + 1] = candidate
                weights[candidate] = weight
            end
        end
    end
    table.sort(candidates, function(a, b)
        if weights[a] ~= weights[b] then return weights[a] > weights[b] end
        return is_older(a, b)
    end)
end

-- Score the likeliest candidates. Return those that count as seen, and those that are lost.
local function score_candidates()
    local scored, lost = {}, {}
    for index = 1, math.min(#candidates, MAX_CANDIDATES) do
        local old, packed = read_record(candidates[index])
        if packed and not old then damaged = candidates[index] end
        local candidate = old and score_candidate(candidates[index], document, old)
        if candidate then
            candidate.packed = packed
            candidate.state = state_of(old, document.run, MOST_LINKS)
            if candidate.state ~= SEEN then candidate.kept_share = NEVER_DELIVERED_SHARE end
            local list = candidate.state == LOST and lost or scored
            list[#list + 1] = candidate
        end
    end
    return scored, lost
end

-- Return the value of a shard with the document's posting added. If the key then has too many postings, the oldest one
-- is left out. That may be the document's own posting.
local function with_own_posting(value, index)
    local posting = tags[index] .. own_posting
    if not is_crowded[index] then return value .. posting end
    local found, oldest, order = positions(value, tags[index]), nil, order_of(posting, 1)
    if #found < MOST_POSTINGS then return value .. posting end
    for _, at in ipairs(found) do
        local each = order_of(value, at)
        if each < order then oldest, order = at, each end
    end
    if not oldest then return value end
    return sub(value, 1, oldest - 1) .. sub(value, oldest + POSTING_BYTES) .. posting
end

-- Keep the record, and post the document's keys.
local function register(record)
    local fields, place_of = {}, {}
    if not own_bits then
        own_bits = bits_for_new_generation() -- computed from the documents before this one
        fields = { 'bits', own_bits }
    end
    local records = records_with(key)
    redis.call('HSET', records, key, record)
    local slice_end = (math.floor(second / policy.slice_seconds) + 1) * policy.slice_seconds
    redis.call('EXPIRE', records, slice_end + policy.window - second)

    local shards = shards_of(own_bits)
    for index = 1, #shards do
        local place = place_of[shards[index]]
        if not place then
            place = #fields + 2
            place_of[shards[index]] = place
            fields[place - 1] = shards[index]
            fields[place] = own_values[index] or ''
        end
        fields[place] = with_own_posting(fields[place], index)
    end
    redis.call('HSET', KEYS[own_index], unpack(fields))
    redis.call('EXPIRE', KEYS[own_index], own_start + policy.generation_seconds + policy.window - second)
end
