--[[
What the scripts that look into the window and register in it have in common: its text stands before theirs.

KEYS[1 .. generations]   band hashes, oldest generation first. Field: shard, the high bits of a 32-bit key in 3 bytes.
                         Value: postings in the order of arrival: tag (the key's low 16 bits), seconds since the
                         generation's start (2 bytes, or 3 if it is longer than 65,536 s), hash part of the document's
                         key (4).
                         Field "bits": how many bits name a shard in this generation.
KEYS[generations + 1 .. generations + slices]
                         record hashes, oldest slice first. Field: document key (8 bytes: second, hash). Value: record.
KEYS[generations + slices + 1]
                         runs, HASH number of the run -> "<first heartbeat> <last heartbeat>", milliseconds by this
                         server's clock. What a run that is not there has not delivered counts for nothing.

ARGV[1]  document key
ARGV[2]  record of the document as an original (see records/documents.py)
ARGV[3]  32-bit keys, 4 bytes each, those of text and url first
ARGV[4]  policy and layout, 38 doubles in this order: identity keys, share from which on the document is dropped as a
         copy (over 1 if it never is), generations, slices, index of the document's own generation, number of the oldest
         generation, seconds a generation, number of the oldest slice, seconds a slice, window (seconds),
         threshold, related threshold, measure (its place in measures.Measure), scope (0 all, 1 same source,
         2 cross source), newest postings a key, most candidates, weight of an identity key, bits that name a shard
         where the window is empty, least shared names, share of same names, least shared figures, share of same figures,
         equal lanes that are not yet enough for the measure overlap, topic threshold, least names of one topic,
         overlap from which on titles are the same, least scores of copies of one source under the same and under
         another title, strong evidence, least figures that differ, 1 if a page whose text changed is kept, 1 if titles
         are evidence, overlap of titles that may be of one article, 1 if this crawl drops copies, ages of a heartbeat
         (seconds) from which on it is late and its run dead, matches that are followed from a document that is dropped
         to one that is kept, what is added to the run of a document that is dropped

The rules of grading and ranking are those of similarity/verification.py.
]]
local NO_URL, NO_SOURCE, NO_ARTICLE, NO_LANGUAGE = string.rep('\0', 8), string.rep('\0', 4), '\0\0\0\0', '\0\0'
local HEADER = '>BI4Bc8c8c4c4c2Bc8c8c8I2BBBBI2BI2BI4'
local HEADER_BYTES = 73
local VERSION = 5
local WHOLE = 255
local TERM = 2
local SPECIFIC = 3
local NAME = 2
local LEADS = 3
local BY_CHANCE, LEAST_RESEMBLANCE = 1 / 256, 0.045

local key, new = ARGV[1], ARGV[2]
local identities, least_dropped, generations, slices, own_generation, first_generation, generation_seconds,
    first_slice, slice_seconds, window, threshold, related_threshold, measure, scope, newest, most_candidates, identity_weight, bits_of_empty_window,
    least_names, same_names, least_figures, same_figures, collisions,
    topic_threshold, least_shared_names, same_titles, same_title_score, other_title_score,
    strong_evidence, least_other_figures, keep_updates, by_titles,
    like_titles, drops, late_seconds, dead_seconds, most_links, is_dropped =
    struct.unpack('>' .. string.rep('d', 38), ARGV[4])
local runs = KEYS[generations + slices + 1]

local find, sub, byte, char = string.find, string.sub, string.byte, string.char

local function second_of(document)
    return struct.unpack('>I4', document)
end

local function record_key(document)
    return KEYS[generations + 1 + math.floor(second_of(document) / slice_seconds) - first_slice]
end

local function parse(record)
    if #record < HEADER_BYTES then return nil end
    local version, size, held, text, url, source, article, language, edition, original, story, candidate, signature,
        figures, specifics, topic, titles, url_length, title_length, original_url_length, original_title_length, run =
        struct.unpack(HEADER, record)
    local behind_topic = HEADER_BYTES + signature + figures + specifics + topic
    local sketches = behind_topic + titles
    local own = sketches + url_length + title_length
    if version ~= VERSION or #record ~= own + original_url_length + original_title_length then return nil end
    return {
        size = size, held = held, text = text, url = url, source = source, article = article, language = language,
        edition = edition, original = original, story = story, candidate = candidate, run = run,
        signature = sub(record, HEADER_BYTES + 1, HEADER_BYTES + signature),
        figures = sub(record, HEADER_BYTES + signature + 1, HEADER_BYTES + signature + figures),
        specifics = sub(record, behind_topic - topic - specifics + 1, behind_topic - topic),
        topic = sub(record, behind_topic - topic + 1, behind_topic),
        titles = sub(record, behind_topic + 1, sketches),
        -- Url and title of the document and of its original, and the three bytes that say how long they are.
        own = sub(record, sketches + 1, own), own_lengths = sub(record, 64, 66),
        tail = sub(record, own + 1), tail_lengths = sub(record, 67, 69),
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

-- Share of the first of two sets that lies in the second.
local function share_of(similarity, own, other)
    if own == 0 then return 0 end
    return math.min(1, similarity * (own + other) / ((1 + similarity) * own))
end

local function share_of_larger(similarity, a, b)
    local larger = math.max(a, b)
    return larger == 0 and 0 or similarity * (a + b) / ((1 + similarity) * larger)
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
    if measure == CONTAINMENT then
        return similarity, similarity >= LEAST_RESEMBLANCE and containment(similarity, document.size, old.size) or 0
    end
    return similarity, share_of_larger(similarity, document.size, old.size)
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

-- How many parts of so many bytes each of two packed sets has, and how many both have.
local function count_shared(a, b, size)
    local ours, in_a, in_b, shared = {}, 0, 0, 0
    for at = 1, #a, size do
        local part = sub(a, at, at + size - 1)
        if not ours[part] then ours[part] = 1; in_a = in_a + 1 end
    end
    for at = 1, #b, size do
        local part = sub(b, at, at + size - 1)
        local seen = ours[part]
        if not seen then ours[part] = 2; in_b = in_b + 1
        elseif seen == 1 then ours[part] = 3; in_b = in_b + 1; shared = shared + 1 end
    end
    return in_a, in_b, shared
end

-- Share of the names of two topics that they have in common, as measures.topic_share.
local function topic_share(a, b)
    local _, _, shared = count_shared(a, b, NAME)
    return shared >= least_shared_names and 2 * NAME * shared / (#a + #b) or 0
end

-- Share of the shorter title's terms that the other has, as measures.title_overlap.
local function title_overlap(a, b)
    local in_a, in_b, shared = count_shared(a, b, TERM)
    local shorter = math.min(in_a, in_b)
    return shorter == 0 and 1 or shared / shorter
end

-- As verification._is_same_page.
local function is_same_page(document, old, overlap, are_alike)
    if document.url == old.url and document.url ~= NO_URL then return true end
    if document.article ~= old.article or document.article == NO_ARTICLE then return false end
    if document.language ~= old.language and document.language ~= NO_LANGUAGE and old.language ~= NO_LANGUAGE then
        return true
    end
    local have_titles = document.titles ~= '' and old.titles ~= ''
    return (are_alike and document.signature ~= '') or (have_titles and overlap >= like_titles)
end

-- The figures of a text, each with its context: see sketch/guards/figures.py. A value ends with the digit f.
local function figures_of(packed)
    local count = byte(packed, 1) or 0
    local found, number, digits = {}, 1, {}
    local function add(digit)
        if number > count then return end
        if digit < 15 then digits[#digits + 1] = char(digit) return end
        found[sub(packed, 4 * number - 2, 4 * number + 1) .. table.concat(digits)] = true
        number, digits = number + 1, {}
    end
    for at = 2 + 4 * count, #packed do
        local pair = byte(packed, at)
        add(math.floor(pair / 16))
        add(pair % 16)
    end
    return found
end

-- As measures.have_other_figures.
local function have_other_figures(a, b)
    local ours, theirs = figures_of(a), figures_of(b)
    local in_a, in_b, same = 0, 0, 0
    for figure in pairs(ours) do
        in_a = in_a + 1
        if theirs[figure] then same = same + 1 end
    end
    for _ in pairs(theirs) do in_b = in_b + 1 end
    local others = math.min(in_a, in_b) - same
    return others >= least_other_figures and others > same
end

-- As verification._is_copy.
local function is_copy(document, old, similarity, score, overlap, same_source, same_text)
    if not same_source or by_titles == 0 then return score >= threshold end
    if document.signature == '' and overlap == 0 then return false end
    if same_text then return true end
    if document.edition ~= 0 and old.edition ~= 0 and document.edition ~= old.edition then return false end
    local enough
    if overlap == 0 then
        enough = share_of_larger(similarity, document.size, old.size) >= strong_evidence
    else
        enough = score >= math.max(threshold, overlap >= same_titles and same_title_score or other_title_score)
    end
    return enough and not have_other_figures(document.figures, old.figures)
end

-- What the candidate passes by, or nil.
local function grade(document, old, candidate)
    local same_source = document.source == old.source and document.source ~= NO_SOURCE
    local same_text = document.text == old.text
    local similarity, score = 1, 1
    if not same_text then similarity, score = likeness(document, old) end
    local overlap = same_source and title_overlap(document.titles, old.titles) or 1
    local same_page = is_same_page(document, old, overlap, score >= related_threshold)
    if not same_page and ((scope == 1 and not same_source) or (scope == 2 and same_source)) then return nil end
    -- It was dropped as a copy by what is known to be boilerplate by now: judge it anew.
    if same_page and same_text and document.signature ~= old.signature and old.held < WHOLE then return nil end
    local copy = same_page or is_copy(document, old, similarity, score, overlap, same_source, same_text)
    local topic = 0
    if not copy and (score < related_threshold or overlap == 0) then
        topic = old.original == old.story and not same_source and topic_share(document.topic, old.topic) or 0
        if topic == 0 or topic < topic_threshold then return nil end
    end
    if not same_page and not same_text and same_template(document.specifics, old.specifics) then return nil end
    local class = copy and 4 or topic == 0 and 5 or 6
    if same_text then class = same_page and 1 or 2 elseif same_page then class = 3 end
    local share = similarity
    if not same_text and measure ~= HAMMING and measure ~= COSINE then
        share = share_of(similarity, document.size, old.size)
    end
    local is_new_headline = same_source and not same_page and overlap < same_titles
    local alike = by_titles == 1 and (similarity + share) / 2 or similarity
    local kept_share = is_new_headline and share < strong_evidence and 0 or share * old.held / WHOLE
    return {
        key = candidate, record = old, class = class, alike = topic > 0 and topic or alike,
        related = not copy,
        kept_share = kept_share, is_changed_page = same_page and not same_text,
    }
end

-- Whether a document counts as seen, as sqlite_runs.states.
local SEEN, LATE, LOST = 0, 1, 2
local beats, now = {}, nil

-- First and last heartbeat of a run, nil if it is dead or over.
local function beats_of(run)
    if beats[run] == nil then
        local first, last = string.match(redis.call('HGET', runs, run) or '', '^(%d+) (%d+)$')
        beats[run] = first and { first = tonumber(first), last = tonumber(last) } or false
    end
    return beats[run]
end

-- As runs.state_of_run.
local function state_of_run(run, own)
    local beat = beats_of(run)
    if not beat then return LOST end
    if not now then
        local time = redis.call('TIME')
        now = time[1] * 1000 + math.floor(time[2] / 1000)
    end
    local age = now - beat.last
    if math.abs(age) > dead_seconds * 1000 then return LOST end
    local asks = own > 0 and beats_of(own)
    return (age > late_seconds * 1000 or (asks and beat.last < asks.first)) and LATE or SEEN
end

local function state_of(record, own, links)
    if record.run == 0 then return SEEN end
    local run = record.run % is_dropped
    local state = run == own and SEEN or state_of_run(run, own)
    if state == LOST or run == record.run then return state end
    local at = links > 0 and record_key(record.candidate)
    local match = at and redis.call('HGET', at, record.candidate)
    if not match or #match < HEADER_BYTES or byte(match, 1) ~= VERSION then return LOST end
    local link = { candidate = sub(match, 50, 57), run = struct.unpack('>I4', match, 70) }
    return math.max(state, state_of(link, own, links - 1))
end

-- As verification._is_dropped.
local function is_copy_to_drop(best)
    return not (best.is_changed_page and keep_updates == 1) and best.kept_share >= least_dropped
end

-- What a record says of the share that is kept, as verification._held.
local function held(best)
    if not is_copy_to_drop(best) then return char(WHOLE) end
    return char(math.max(math.floor(WHOLE * best.kept_share), math.ceil(WHOLE * least_dropped)))
end

-- By bytes: Lua compares strings as the server's language orders them.
local function is_older(a, b)
    local second_a, hash_a = struct.unpack('>I4I4', a)
    local second_b, hash_b = struct.unpack('>I4I4', b)
    if second_a ~= second_b then return second_a < second_b end
    return hash_a < hash_b
end

local function better(a, b)
    if a.class ~= b.class then return a.class < b.class end
    if a.alike ~= b.alike then return a.alike > b.alike end
    if a.class == 1 then return is_older(b.key, a.key) end
    return is_older(a.key, b.key)
end

local SECOND = generation_seconds > 65536 and 3 or 2 -- bytes
local POSTING = 2 + SECOND + 4

-- The postings of one tag in one value: their positions.
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
    for index = generations + 1, generations + slices do
        local length = redis.call('HLEN', KEYS[index])
        documents = documents + length
        if length > 0 then busy = busy + 1 end
    end
    if documents == 0 then return bits_of_empty_window end
    local postings = documents / busy * generation_seconds / slice_seconds * #tags
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

-- A posting as a number: in the order of their document keys, within a generation.
local AS_NUMBER = '>I' .. SECOND .. 'I4'
local HASHES = 4294967296
local function order_of(posting)
    local seconds, hash = struct.unpack(AS_NUMBER, posting)
    return seconds * HASHES + hash
end

-- The newest of the window by their document keys; what is out of it takes no one's place. ``own`` is the document's own
-- posting where it is there already: what stands behind it came later and is no candidate.
local function collect(value, index, start, own)
    local found = positions(value, tags[index])
    local room = left[index] or newest
    local last = #found
    if own then
        while last > 0 and sub(value, found[last] + 2, found[last] + POSTING - 1) ~= own do last = last - 1 end
        for place = #found, math.max(last, 1), -1 do found[place] = nil end
    end
    if #found > room then
        local orders = {}
        for _, at in ipairs(found) do orders[at] = order_of(sub(value, at + 2, at + POSTING - 1)) end
        table.sort(found, function(a, b) return orders[a] > orders[b] end)
    end
    for _, at in ipairs(found) do
        if room == 0 then break end
        local seen, hash = struct.unpack(AS_NUMBER, sub(value, at + 2, at + POSTING - 1))
        seen = seen + start
        if math.abs(seen - second) <= window then
            local candidate = struct.pack('>I4I4', seen, hash)
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
local own_posting = struct.pack('>I' .. SECOND, second - start) .. sub(key, 5, 8)

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
        return is_older(a, b)
    end)
end

-- What each of the first candidates passes by, with its record; those that pass nothing are left out. Those that count
-- as seen, and those that are lost.
local damaged -- key of a candidate whose record cannot be read
local function graded_candidates()
    local passed, lost = {}, {}
    for index = 1, math.min(#candidates, most_candidates) do
        local candidate = candidates[index]
        local packed = redis.call('HGET', record_key(candidate), candidate)
        local old = packed and parse(packed)
        if packed and not old then damaged = candidate end
        local graded = old and grade(document, old, candidate)
        if graded then
            graded.packed = packed
            graded.state = state_of(old, document.run, most_links)
            if graded.state ~= SEEN then graded.kept_share = -1 end
            local those = graded.state == LOST and lost or passed
            those[#those + 1] = graded
        end
    end
    return passed, lost
end

-- The best of the lost ones for the sake of its story, and the one that is the same page.
local function best_of_lost(lost)
    local copy, page
    for _, graded in ipairs(lost) do
        if not graded.related and (not copy or better(graded, copy)) then copy = graded end
        if (graded.class == 1 or graded.class == 3) and (not page or better(graded, page)) then page = graded end
    end
    return copy, page
end

-- Keep the record, and post the document's keys.
local function register(record)
    local fields, place_of = {}, {}
    if not own_bits then
        own_bits = bits_for_new_generation() -- by the documents before this one
        fields = { 'bits', own_bits }
    end
    redis.call('HSET', record_key(key), key, record)
    redis.call('EXPIRE', record_key(key), (math.floor(second / slice_seconds) + 1) * slice_seconds + window - second)

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
        local posting = tag .. own_posting
        if crowded[index] then
            -- The oldest goes, and if that is the document itself, it is not posted.
            local found, oldest, order = positions(value, tag), nil, order_of(own_posting)
            for _, at in ipairs(found) do
                local each = order_of(sub(value, at + 2, at + POSTING - 1))
                if each < order then oldest, order = at, each end
            end
            if #found >= newest then
                if oldest then
                    value = sub(value, 1, oldest - 1) .. sub(value, oldest + POSTING)
                else
                    posting = ''
                end
            end
        end
        fields[place] = value .. posting
    end
    redis.call('HSET', KEYS[own_generation], unpack(fields))
    redis.call('EXPIRE', KEYS[own_generation], start + generation_seconds + window - second)
end
