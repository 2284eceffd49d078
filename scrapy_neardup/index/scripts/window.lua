--[[
What the scripts that look into the window and register in it have in common: its text stands before theirs.

KEYS[1 .. generations]   band hashes, oldest generation first. Field: shard, the high bits of a 32-bit key in 3 bytes.
                         Value: postings of 8 bytes in the order of arrival: tag (the key's low 16 bits), seconds since
                         the generation's start (2), hash part of the document's key (4).
                         Field "bits": how many bits name a shard in this generation.
KEYS[generations + 1 .. generations + hours]
                         record hashes, oldest hour first. Field: document key (8 bytes: second, hash). Value: record.

ARGV[1]  document key
ARGV[2]  record of the document as an original (see index/record.py)
ARGV[3]  32-bit keys, 4 bytes each, those of text and url first
ARGV[4]  policy and layout, 23 doubles in this order: identity keys, generations, hours, index of the document's own
         generation, number of the oldest generation, seconds a generation, number of the oldest hour, window (seconds),
         threshold, related threshold, measure (its place in measures.Measure), scope (0 all, 1 same source,
         2 cross source), newest postings a key, most candidates, weight of an identity key, bits that name a shard
         where the window is empty, least shared names, share of same names, least shared figures, share of same figures,
         equal lanes that are not yet enough for the measure overlap, topic threshold, least names of one topic

The rules of grading and ranking are those of index/verification.py.
]]
local HOUR = 3600
local POSTING = 8
local NO_URL, NO_SOURCE = string.rep('\0', 8), string.rep('\0', 4)
local HEADER = '>BI4c8c8c4c8c8c8I2BBBI2B'
local HEADER_BYTES = 57
local VERSION = 3
local SPECIFIC = 3
local NAME = 2
local LEADS = 3
local BY_CHANCE, LEAST_RESEMBLANCE = 1 / 256, 0.045

local key, new = ARGV[1], ARGV[2]
local identities, generations, hours, own_generation, first_generation, generation_seconds, first_hour, window,
    threshold, related_threshold, measure, scope, newest, most_candidates, identity_weight, bits_of_empty_window,
    least_names, same_names, least_figures, same_figures, collisions,
    topic_threshold, least_shared_names = struct.unpack('>ddddddddddddddddddddddd', ARGV[4])

local find, sub, byte, char = string.find, string.sub, string.byte, string.char

local function second_of(document)
    return struct.unpack('>I4', document)
end

local function record_key(document)
    return KEYS[generations + 1 + math.floor(second_of(document) / HOUR) - first_hour]
end

local function parse(record)
    if #record < HEADER_BYTES then return nil end
    local version, size, text, url, source, original, story, candidate, signature, figures, specifics, topic, url_length,
        title_length = struct.unpack(HEADER, record)
    local sketches = HEADER_BYTES + signature + figures + specifics + topic
    if version ~= VERSION or #record ~= sketches + url_length + title_length then return nil end
    return {
        size = size, text = text, url = url, source = source, original = original, story = story, candidate = candidate,
        signature = sub(record, HEADER_BYTES + 1, HEADER_BYTES + signature),
        specifics = sub(record, sketches - topic - specifics + 1, sketches - topic),
        topic = sub(record, sketches - topic + 1, sketches),
        tail = sub(record, sketches + 1),
        lengths = sub(record, 55, 57),
    }
end

local function equal_bytes(a, b)
    if a == '' or #a ~= #b then return 0 end
    if a == b then return 1 end
    local equal = 0
    for lane = 1, #a, 8 do
        local a1, a2, a3, a4, a5, a6, a7, a8 = byte(a, lane, lane + 7)
        local b1, b2, b3, b4, b5, b6, b7, b8 = byte(b, lane, lane + 7)
        if a1 == b1 then equal = equal + 1 end
        if a2 == b2 and a2 then equal = equal + 1 end
        if a3 == b3 and a3 then equal = equal + 1 end
        if a4 == b4 and a4 then equal = equal + 1 end
        if a5 == b5 and a5 then equal = equal + 1 end
        if a6 == b6 and a6 then equal = equal + 1 end
        if a7 == b7 and a7 then equal = equal + 1 end
        if a8 == b8 and a8 then equal = equal + 1 end
    end
    return equal / #a
end

local function beyond_chance(share)
    return math.max(0, (share - BY_CHANCE) / (1 - BY_CHANCE))
end

local function resemblance(a, b)
    return beyond_chance(equal_bytes(a, b))
end

local function containment(similarity, a, b)
    local smaller = math.min(a, b)
    if smaller == 0 then return 0 end
    return math.min(1, similarity * (a + b) / ((1 + similarity) * smaller))
end

local LEAD_LANES = 128
local CONTAINMENT, RESEMBLANCE, LARGER, OVERLAP, HAMMING, COSINE = 0, 1, 2, 3, 4, 5

local function cosine(a, b)
    if #a ~= #b then return 0 end
    local product, square_a, square_b = 0, 0, 0
    for lane = 1, #a do
        local one, other = byte(a, lane), byte(b, lane)
        product = product + one * other
        square_a = square_a + one * one
        square_b = square_b + other * other
    end
    local squares = square_a * square_b
    return squares > 0 and product / math.sqrt(squares) or 0
end

local function overlap(a, b)
    local cut_a, cut_b = math.max(0, #a - LEAD_LANES), math.max(0, #b - LEAD_LANES)
    local sketch_a, sketch_b = sub(a, 1, cut_a), sub(b, 1, cut_b)
    local share = equal_bytes(sketch_a, sketch_b)
    local similarity = beyond_chance(share)
    if math.floor(share * cut_a + 0.5) <= collisions then return similarity, 0 end
    return similarity, resemblance(sub(a, cut_a + 1), sub(b, cut_b + 1))
end

-- Similarity, and the score that thresholds are compared with, as measures.likeness.
local function likeness(document, old)
    local a, b = document.signature, old.signature
    if measure == HAMMING or measure == COSINE then
        local similarity = measure == HAMMING and equal_bytes(a, b) or measure == COSINE and cosine(a, b)
        return similarity, similarity
    end
    if measure == OVERLAP then return overlap(a, b) end
    local similarity = resemblance(a, b)
    if measure == RESEMBLANCE then return similarity, similarity end
    local larger = math.max(document.size, old.size)
    if measure == CONTAINMENT then
        return similarity, similarity >= LEAST_RESEMBLANCE and containment(similarity, document.size, old.size) or 0
    end
    if larger == 0 then return similarity, 0 end
    return similarity, similarity * (document.size + old.size) / ((1 + similarity) * larger)
end

-- How many bytes of specifics are of the first names of a short text: their keys are 0, 1 and 2.
local function bytes_of_leads(specifics)
    local bytes = 0
    while bytes + SPECIFIC <= #specifics and bytes < LEADS * SPECIFIC do
        local high, low = byte(specifics, bytes + 1, bytes + 2)
        if high ~= 0 or low >= LEADS then break end
        bytes = bytes + SPECIFIC
    end
    return bytes
end

local function disjoint(a, a_bytes, b, b_bytes)
    for one = SPECIFIC, a_bytes, SPECIFIC do
        for other = SPECIFIC, b_bytes, SPECIFIC do
            if byte(a, one) == byte(b, other) then return false end
        end
    end
    return true
end

-- Whether two texts are reports of one template, as measures.same_template tells it.
local function same_template(a, b)
    local a_bytes, b_bytes = bytes_of_leads(a), bytes_of_leads(b)
    local other_leads = a_bytes > 0 and b_bytes > 0 and disjoint(a, a_bytes, b, b_bytes)
    a, b = sub(a, a_bytes + 1), sub(b, b_bytes + 1)
    local values = {}
    for at = 1, #a - 2, SPECIFIC do values[sub(a, at, at + 1)] = byte(a, at + 2) end
    local shared, same, names, other_names = 0, 0, 0, 0
    for at = 1, #b - 2, SPECIFIC do
        local value, theirs = values[sub(b, at, at + 1)], byte(b, at + 2)
        if value then
            shared = shared + 1
            if value >= 128 then names = names + 1 end
            if value == theirs then same = same + 1 elseif value >= 128 then other_names = other_names + 1 end
        end
    end
    if other_leads and names == other_names then return true end
    if other_names > 0 then return shared >= least_names and same <= same_names * shared end
    return names == 0 and shared >= least_figures and same <= same_figures * shared
end

-- Share of the names of two topics that they have in common, as measures.topic_share.
local function topic_share(a, b)
    local names, shared = {}, 0
    for at = 1, #a, NAME do names[sub(a, at, at + NAME - 1)] = true end
    for at = 1, #b, NAME do
        if names[sub(b, at, at + NAME - 1)] then shared = shared + 1 end
    end
    return shared >= least_shared_names and 2 * NAME * shared / (#a + #b) or 0
end

-- What the candidate passes by, or nil.
local function grade(document, old, candidate)
    local same_url = document.url == old.url and document.url ~= NO_URL
    local same_source = document.source == old.source and document.source ~= NO_SOURCE
    if not same_url and ((scope == 1 and not same_source) or (scope == 2 and same_source)) then return nil end
    local same_text = document.text == old.text
    local similarity, score = 1, 1
    if not same_text then similarity, score = likeness(document, old) end
    local copy = same_url or same_text or score >= threshold
    local topic = 0
    if not copy and score < related_threshold then
        topic = old.original == old.story and not same_source and topic_share(document.topic, old.topic) or 0
        if topic == 0 or topic < topic_threshold then return nil end
    end
    if not same_url and not same_text and same_template(document.specifics, old.specifics) then return nil end
    local class = copy and 4 or topic == 0 and 5 or 6
    if same_text then class = same_url and 1 or 2 elseif same_url then class = 3 end
    return { key = candidate, record = old, class = class, alike = topic > 0 and topic or similarity, related = not copy }
end

local function better(a, b)
    if a.class ~= b.class then return a.class < b.class end
    if a.alike ~= b.alike then return a.alike > b.alike end
    return a.key < b.key
end

-- The postings of one tag in one value: the positions of the last `newest`.
local function positions(value, tag)
    local found, from = {}, 1
    while true do
        local at = find(value, tag, from, true)
        if not at then break end
        if (at - 1) % POSTING == 0 then
            found[#found + 1] = at
            from = at + POSTING
        else
            from = at + 1
        end
    end
    return found
end

local document = parse(new)
local keys = ARGV[3]
local tags = {}
for at = 3, #keys, 4 do tags[#tags + 1] = sub(keys, at, at + 1) end

-- A shard is to hold so many postings: fewer make many fields, more make each check read and write much.
local POSTINGS_A_SHARD, FEWEST_BITS, MOST_BITS = 16, 16, 24

-- As many shards as a generation fills that goes on like the hours just before it.
local function bits_for_new_generation()
    local documents, busy = 0, 0
    for index = generations + 1, generations + hours do
        local length = redis.call('HLEN', KEYS[index])
        documents = documents + length
        if length > 0 then busy = busy + 1 end
    end
    if documents == 0 then return bits_of_empty_window end
    local postings = documents / busy * generation_seconds / HOUR * #tags
    local bits = math.floor(math.log(postings / POSTINGS_A_SHARD) / math.log(2) + 0.5)
    return math.max(FEWEST_BITS, math.min(MOST_BITS, bits))
end

-- The names of the document's shards where they have so many bits; the same for generations of the same size.
local shards_of_bits = {}
local function shards_of(bits)
    local shards = shards_of_bits[bits]
    if shards then return shards end
    shards = {}
    local dropped, kept = 2 ^ (24 - bits), {} -- of the third byte only the high bits count
    for at = 1, #keys, 4 do
        local third = byte(keys, at + 2)
        local last = kept[third]
        if not last then
            last = char(third - third % dropped)
            kept[third] = last
        end
        shards[#shards + 1] = sub(keys, at, at + 1) .. last
    end
    shards_of_bits[bits] = shards
    return shards
end

local function bits_of(generation)
    local kept = redis.call('HGET', KEYS[generation], 'bits')
    local bits = kept and tonumber(kept)
    return bits and bits >= FEWEST_BITS and bits <= MOST_BITS and math.floor(bits) or nil
end

-- Candidates: the newest postings of every key, newest generation first.
local weights, candidates, left, own_values, own_bits = {}, {}, {}, {}, nil
local crowded = {} -- keys that others of the own generation may have too

local second = second_of(key)

-- What is out of the window takes no one's place. ``own`` is the document's own posting where it is there already:
-- what stands behind it came later and is no candidate.
local function collect(value, index, start, own)
    local found = positions(value, tags[index])
    local room = left[index] or newest
    local last = #found
    if own then
        while last > 0 and sub(value, found[last] + 2, found[last] + 7) ~= own do last = last - 1 end
        last = last - 1
    end
    for place = last, 1, -1 do
        if room == 0 then break end
        local at = found[place]
        local high, low = byte(value, at + 2, at + 3)
        local seen = start + high * 256 + low
        if math.abs(seen - second) <= window then
            local candidate = struct.pack('>I4', seen) .. sub(value, at + 4, at + 7)
            if not weights[candidate] then
                weights[candidate] = 0
                candidates[#candidates + 1] = candidate
            end
            weights[candidate] = weights[candidate] + (index <= identities and identity_weight or 1)
            room = room - 1
        end
    end
    left[index] = room
end

local start = (first_generation + own_generation - 1) * generation_seconds
local own_posting = struct.pack('>I2', second - start) .. sub(key, 5, 8)

-- The documents of the window that share a key with this one and arrived before it, the likeliest first.
local function find_candidates(is_known)
    for generation = generations, 1, -1 do
        local bits = bits_of(generation)
        local values = bits and redis.call('HMGET', KEYS[generation], unpack(shards_of(bits))) or {}
        if generation == own_generation then own_values, own_bits = values, bits end
        for index = 1, #values do
            local value = values[index]
            -- Most keys are nobody else's: one scan says so.
            if value and find(value, tags[index], 1, true) then
                if generation == own_generation then crowded[index] = true end
                collect(value, index, (first_generation + generation - 1) * generation_seconds,
                        is_known and generation == own_generation and own_posting)
            end
        end
    end
    table.sort(candidates, function(a, b)
        if weights[a] ~= weights[b] then return weights[a] > weights[b] end
        return a < b
    end)
end

-- What each of the first candidates passes by, with its record; those that pass nothing are left out.
local function graded_candidates()
    local passed = {}
    for index = 1, math.min(#candidates, most_candidates) do
        local candidate = candidates[index]
        local packed = redis.call('HGET', record_key(candidate), candidate)
        local old = packed and parse(packed)
        local graded = old and grade(document, old, candidate)
        if graded then
            graded.packed = packed
            passed[#passed + 1] = graded
        end
    end
    return passed
end

-- Keep the record, and post the document's keys.
local function register(record)
    local fields, place_of = {}, {}
    if not own_bits then
        own_bits = bits_for_new_generation() -- by the documents before this one
        fields = { 'bits', own_bits }
    end
    redis.call('HSET', record_key(key), key, record)
    redis.call('EXPIRE', record_key(key), (math.floor(second / HOUR) + 1) * HOUR + window - second)

    local shards = shards_of(own_bits)
    for index = 1, #shards do
        local shard, tag = shards[index], tags[index]
        local place = place_of[shard]
        local value
        if place then
            value = fields[place]
        else
            place = #fields + 2
            place_of[shard] = place
            fields[place - 1] = shard
            value = own_values[index] or ''
        end
        if crowded[index] then
            local found = positions(value, tag)
            if #found >= newest then
                value = sub(value, 1, found[1] - 1) .. sub(value, found[1] + POSTING)
            end
        end
        fields[place] = value .. tag .. own_posting
    end
    redis.call('HSET', KEYS[own_generation], unpack(fields))
    redis.call('EXPIRE', KEYS[own_generation], start + generation_seconds + window - second)
end
