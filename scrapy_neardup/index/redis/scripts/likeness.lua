--[[
How alike two documents are, as similarity/likeness.py computes it. The constants are rendered from that module.
]]
local find, sub, byte, char = string.find, string.sub, string.byte, string.char

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

local function share_of(similarity, own, other)
    if own == 0 then return 0 end
    return math.min(1, similarity * (own + other) / ((1 + similarity) * own))
end

local function containment(similarity, a, b)
    return share_of(similarity, math.min(a, b), math.max(a, b))
end

local function share_of_larger(similarity, a, b)
    local larger = math.max(a, b)
    return larger == 0 and 0 or similarity * (a + b) / ((1 + similarity) * larger)
end

local function cosine(a, b)
    if #a ~= #b then return 0 end
    local product, square_a, square_b = 0, 0, 0
    for lane = 1, #a do
        local in_a, in_b = byte(a, lane), byte(b, lane)
        product = product + in_a * in_b
        square_a = square_a + in_a * in_a
        square_b = square_b + in_b * in_b
    end
    local squares = square_a * square_b
    return squares > 0 and product / math.sqrt(squares) or 0
end

local function overlap_of(a, b)
    local cut_a, cut_b = math.max(0, #a - LEAD_LANES), math.max(0, #b - LEAD_LANES)
    local share = equal_bytes(sub(a, 1, cut_a), sub(b, 1, cut_b))
    local similarity = beyond_chance(share)
    if math.floor(share * cut_a + 0.5) <= policy.collisions then return similarity, 0 end
    return similarity, resemblance(sub(a, cut_a + 1), sub(b, cut_b + 1))
end

local is_of_sets = policy.measure ~= 'hamming' and policy.measure ~= 'cosine'

-- Similarity, and the score that thresholds are compared with.
local function likeness(new, old)
    local a, b, measure = new.signature, old.signature, policy.measure
    if not is_of_sets then
        local similarity = measure == 'hamming' and equal_bytes(a, b) or measure == 'cosine' and cosine(a, b)
        return similarity, similarity
    end
    if measure == 'overlap' then return overlap_of(a, b) end
    local similarity = resemblance(a, b)
    if measure == 'resemblance' then return similarity, similarity end
    if measure == 'larger' then return similarity, share_of_larger(similarity, new.size, old.size) end
    return similarity, similarity >= LEAST_RESEMBLANCE and containment(similarity, new.size, old.size) or 0
end

-- How many bytes of specifics stand for the first names of a short text: those with the keys below LEADS.
local function bytes_of_leads(specifics)
    local bytes = 0
    while bytes + SPECIFIC_BYTES <= #specifics and bytes < LEADS * SPECIFIC_BYTES do
        local high, low = byte(specifics, bytes + 1, bytes + 2)
        if high ~= 0 or low >= LEADS then break end
        bytes = bytes + SPECIFIC_BYTES
    end
    return bytes
end

local function are_disjoint(a, a_bytes, b, b_bytes)
    for in_a = SPECIFIC_BYTES, a_bytes, SPECIFIC_BYTES do
        for in_b = SPECIFIC_BYTES, b_bytes, SPECIFIC_BYTES do
            if byte(a, in_a) == byte(b, in_b) then return false end
        end
    end
    return true
end

local function have_same_template(a, b)
    local a_bytes, b_bytes = bytes_of_leads(a), bytes_of_leads(b)
    local other_leads = a_bytes > 0 and b_bytes > 0 and are_disjoint(a, a_bytes, b, b_bytes)
    a, b = sub(a, a_bytes + 1), sub(b, b_bytes + 1)
    local values = {}
    for at = 1, #a - 2, SPECIFIC_BYTES do values[sub(a, at, at + 1)] = byte(a, at + 2) end
    local shared, same, names, other_names = 0, 0, 0, 0
    for at = 1, #b - 2, SPECIFIC_BYTES do
        local in_a, in_b = values[sub(b, at, at + 1)], byte(b, at + 2)
        if in_a then
            shared = shared + 1
            if in_a >= NAME_BIT then names = names + 1 end
            if in_a == in_b then same = same + 1 elseif in_a >= NAME_BIT then other_names = other_names + 1 end
        end
    end
    if other_leads and names == other_names then return true end
    if other_names > 0 then return shared >= LEAST_NAMES and same <= SAME_NAMES * shared end
    return names == 0 and shared >= LEAST_FIGURES and same <= SAME_FIGURES * shared
end

-- Return how many parts each of two packed sets has, and how many they share. Each part has ``size`` bytes.
local function count_shared(a, b, size)
    local parts, in_a, in_b, shared = {}, 0, 0, 0
    for at = 1, #a, size do
        local part = sub(a, at, at + size - 1)
        if not parts[part] then parts[part] = 1; in_a = in_a + 1 end
    end
    for at = 1, #b, size do
        local part = sub(b, at, at + size - 1)
        local seen = parts[part]
        if not seen then parts[part] = 2; in_b = in_b + 1
        elseif seen == 1 then parts[part] = 3; in_b = in_b + 1; shared = shared + 1 end
    end
    return in_a, in_b, shared
end

-- Read a packed topic: the weights by slot, the sum of their squares; which slots are in the title, and the sum of the
-- squares of their weights. The topic of the document is read once, though it is compared with every candidate.
local topics = {}
local function read_topic(packed)
    local topic = topics[packed]
    if topic then return topic end
    topic = { weights = {}, square = 0, titles = {}, title_square = 0 }
    local bytes = { byte(packed, 1, MOST_TOPIC_TERMS * TOPIC_TERM_BYTES) }
    for place = 1, math.floor(#bytes / TOPIC_TERM_BYTES) do
        local term, weight = bytes[2 * place - 1] * 256 + bytes[2 * place], TERM_WEIGHTS[place]
        local slot = term % TITLE_BIT
        topic.weights[slot] = weight
        topic.square = topic.square + weight * weight
        if term >= TITLE_BIT then
            topic.titles[slot] = true
            topic.title_square = topic.title_square + weight * weight
        end
    end
    topics[packed] = topic
    return topic
end

-- Compare a topic that was read with a packed one, in one pass. Return the sum of the products of their weights, the
-- largest product, the number of products; the squares of the packed topic and of its title; and of both titles the
-- squares of the terms that the other topic has.
local function compare_topics(ours, packed)
    local sum, largest, count, square, title_square, covered, covered_of_ours = 0, 0, 0, 0, 0, 0, 0
    local bytes, weights = { byte(packed, 1, MOST_TOPIC_TERMS * TOPIC_TERM_BYTES) }, ours.weights
    for place = 1, math.floor(#bytes / TOPIC_TERM_BYTES) do
        local term, weight = bytes[2 * place - 1] * 256 + bytes[2 * place], TERM_WEIGHTS[place]
        local slot = term % TITLE_BIT
        local own, own_square = weights[slot], weight * weight
        square = square + own_square
        if slot < term then title_square = title_square + own_square end
        if own then
            local product = own * weight
            sum, count = sum + product, count + 1
            if product > largest then largest = product end
            if slot < term then covered = covered + own_square end
            if ours.titles[slot] then covered_of_ours = covered_of_ours + own * own end
        end
    end
    return sum, largest, count, square, title_square, covered, covered_of_ours
end

local function coverage(covered, title_square)
    return title_square == 0 and UNKNOWN_COVERAGE or covered / title_square
end

local function topic_score(a, b)
    local ours = read_topic(a)
    local sum, largest, count, square, title_square, covered, covered_of_ours = compare_topics(ours, b)
    if count < LEAST_SHARED_TERMS then return 0 end
    local cosine_of_topics = (sum - largest) / math.sqrt(ours.square * square)
    local both = (coverage(covered_of_ours, ours.title_square) + coverage(covered, title_square)) / 2
    return (1 - COVERAGE_SHARE) * cosine_of_topics + COVERAGE_SHARE * both
end

local function topic_cosine(a, b)
    local ours = read_topic(a)
    local sum, _, _, square = compare_topics(ours, b)
    return sum > 0 and sum / math.sqrt(ours.square * square) or 0
end

local function least_topic_score(same_source)
    return policy.topic_threshold + (same_source and SAME_SOURCE_EXTRA or 0)
end

local function related_topic_score(a, b, story, same_source)
    if a == '' or b == '' then return 0 end
    local score = topic_score(a, b)
    if score < least_topic_score(same_source) then return 0 end
    return (story == '' or topic_cosine(a, story) >= LEAST_STORY_COSINE) and score or 0
end

local function add_topic(story, topic)
    local weights, order = {}, {}
    for slot, weight in pairs(read_topic(story).weights) do weights[slot] = STORY_PARTS * weight end
    for slot, weight in pairs(read_topic(topic).weights) do weights[slot] = (weights[slot] or 0) + weight end
    -- Numbers in ascending order are the heaviest terms first, those of one weight by their slots.
    for slot, weight in pairs(weights) do order[#order + 1] = slot - weight * TITLE_BIT end
    table.sort(order)
    local packed = {}
    for place = 1, math.min(#order, MOST_TOPIC_TERMS) do packed[place] = struct.pack('>I2', order[place] % TITLE_BIT) end
    return table.concat(packed)
end

local function title_overlap(a, b)
    local in_a, in_b, shared = count_shared(a, b, TERM_BYTES)
    local shorter = math.min(in_a, in_b)
    return shorter == 0 and 1 or shared / shorter
end

-- The figures of a text, each with its context. A value ends with the digit f.
local function figures_of(packed)
    local count = byte(packed, 1) or 0
    local found, number, digits = {}, 1, {}
    local function add(digit)
        if number > count then return end
        if digit < 15 then digits[#digits + 1] = char(digit) return end
        local from = 2 + CONTEXT_BYTES * (number - 1)
        found[sub(packed, from, from + CONTEXT_BYTES - 1) .. table.concat(digits)] = true
        number, digits = number + 1, {}
    end
    for at = 2 + CONTEXT_BYTES * count, #packed do
        local pair = byte(packed, at)
        add(math.floor(pair / 16))
        add(pair % 16)
    end
    return found
end

local function have_other_figures(a, b)
    local figures_a, figures_b = figures_of(a), figures_of(b)
    local in_a, in_b, same = 0, 0, 0
    for figure in pairs(figures_a) do
        in_a = in_a + 1
        if figures_b[figure] then same = same + 1 end
    end
    for _ in pairs(figures_b) do in_b = in_b + 1 end
    local others = math.min(in_a, in_b) - same
    return others >= LEAST_OTHER_FIGURES and others > same
end
