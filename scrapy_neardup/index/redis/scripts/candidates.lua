--[[
Which candidate is the match, by the rules of similarity/verification.py and index/runs.py.

KEYS[1 .. generations]   band hashes, oldest generation first. Field: shard, the high bits of a 32-bit key in 3 bytes.
                         Value: postings in the order of arrival: tag (the key's low 16 bits), seconds since the
                         generation's start (2 bytes, or 3 if it is longer than 65,536 s), hash part of the document's
                         key (4).
                         Field "bits": how many bits name a shard in this generation.
KEYS[generations + 1 .. generations + slices]
                         record hashes, oldest slice first. Field: document key (8 bytes: second, hash). Value: record.
KEYS[generations + slices + 1]
                         runs, HASH number of the run -> "<first heartbeat> <last heartbeat>", milliseconds by this
                         server's clock. If a run is missing here, its undelivered documents do not count.
The generations and slices are those that lie within a window before and after the document.

ARGV[1]  document key
ARGV[2]  record of the document as an original
ARGV[3]  32-bit keys, 4 bytes each: those of identity (text and url) first, those of the topic last
ARGV[4]  how many of the keys are those of identity, and how many those of the topic: "2 12"
ARGV[5]  the document is dropped as a copy if its match holds at least this share of it; over 1 if it is never
         dropped
]]
local NO_URL, NO_SOURCE, NO_ARTICLE, NO_LANGUAGE = string.rep('\0', 8), '\0\0\0\0', '\0\0\0\0', '\0\0'
local key, packed_document, keys = ARGV[1], ARGV[2], ARGV[3]
local identities, topic_keys = string.match(ARGV[4], '^(%d+) (%d+)$')
identities, topic_keys = tonumber(identities), tonumber(topic_keys)

local function second_of(document)
    return struct.unpack('>I4', document)
end

-- Cut time into spans of this many seconds. Return the number of the first span in the window, the count of spans in
-- the window, and the number of the document's own span.
local second = second_of(key)
local function spans_of_window(seconds)
    local first = math.floor((second - policy.window) / seconds)
    return first, math.floor((second + policy.window) / seconds) - first + 1, math.floor(second / seconds)
end
local first_generation, generations, own_generation = spans_of_window(policy.generation_seconds)
local first_slice, slices = spans_of_window(policy.slice_seconds)
local runs = KEYS[generations + slices + 1]

-- The key of the hash that has the record of a document; nil if the document is not in the window.
local function records_with(document)
    return KEYS[generations + 1 + math.floor(second_of(document) / policy.slice_seconds) - first_slice]
end

-- The record of a document, and its bytes; nil if it is gone or damaged.
local function read_record(document)
    local records = records_with(document)
    local packed = records and redis.call('HGET', records, document)
    return packed and unpack_record(packed), packed
end

-- As verification.is_same_page. ``overlap`` is that of the titles, ``are_alike`` whether the texts are at least related.
local function is_same_page(new, old, overlap, are_alike)
    if new.url_hash == old.url_hash and new.url_hash ~= NO_URL then return true end
    if new.article_hash ~= old.article_hash or new.article_hash == NO_ARTICLE then return false end
    if new.language ~= old.language and new.language ~= NO_LANGUAGE and old.language ~= NO_LANGUAGE then return true end
    local have_titles = new.titles ~= '' and old.titles ~= ''
    return (are_alike and new.signature ~= '') or (have_titles and overlap >= LIKE_TITLES)
end

-- As verification.is_copy_by_text.
local function is_copy(new, old, similarity, score, overlap, same_source, same_text)
    if not same_source or not policy.by_titles then return score >= policy.threshold end
    if new.signature == '' and overlap == 0 then return false end
    if same_text then return true end
    if new.edition ~= 0 and old.edition ~= 0 and new.edition ~= old.edition then return false end
    local enough
    if overlap == 0 then
        enough = share_of_larger(similarity, new.size, old.size) >= STRONG_EVIDENCE
    else
        enough = score >= math.max(policy.threshold, overlap >= SAME_TITLES and SAME_TITLE_SCORE or OTHER_TITLE_SCORE)
    end
    return enough and not have_other_figures(new.figures, old.figures)
end

-- As verification._supports.
local function supports(new, old, same_source)
    if new.topic == '' and old.topic == '' then return true end
    local least = same_source and least_topic_score(true) or SUPPORTING_SHARE * policy.topic_threshold
    return topic_score(new.topic, old.topic) >= least
end

-- As verification._tell_one_story.
local function tell_one_story(new, old)
    if title_overlap(new.titles, old.titles) >= LIKE_TITLES then return true end
    return topic_cosine(new.topic, old.topic) >= LEAST_STORY_COSINE
end

-- Candidates of a lower class are better: the page itself unchanged, the same text, the page itself changed, a copy, a
-- related text, a text on the same topic.
local PAGE_UNCHANGED, SAME_TEXT, PAGE_CHANGED, COPY, RELATED, SAME_TOPIC = 1, 2, 3, 4, 5, 6

-- A scored candidate, or nil if it is no match under the policy. As verification.score_candidate. Its fields:
--   key, record      of the candidate; the record is unpacked
--   class            see above
--   ranking_score    by which candidates of one class are ranked, the highest first
--   related          whether it is no copy, only related
--   same_page        whether it is the same page
--   is_page_changed  whether it is the same page with another text
--   kept_share       share of the new document's text that is in the nearest document that was kept
-- score_candidates in postings.lua adds
--   packed           the record as it is stored
--   state            SEEN, LATE or LOST
local function score_candidate(candidate, new, old)
    local same_source = new.source_hash == old.source_hash and new.source_hash ~= NO_SOURCE
    local same_text = new.text_hash == old.text_hash
    local similarity, score = 1, 1
    if not same_text then similarity, score = likeness(new, old) end
    local overlap = same_source and title_overlap(new.titles, old.titles) or 1
    local same_page = is_same_page(new, old, overlap, score >= policy.related_threshold)
    local is_other_scope = policy.scope == 'same-source' and not same_source or
        policy.scope == 'cross-source' and same_source
    if is_other_scope and not same_page then return nil end
    if new.own_parts == 0 and not same_source and not same_text and not tell_one_story(new, old) then return nil end
    -- The page was dropped as a copy because of lines that are now known as boilerplate: judge it again.
    if same_page and same_text and new.signature ~= old.signature and old.kept_share_parts < WHOLE_TEXT then return nil end
    local copy = same_page or is_copy(new, old, similarity, score, overlap, same_source, same_text)
    local topic = 0
    local are_alike = score >= policy.related_threshold and overlap > 0
    if not copy and are_alike and not supports(new, old, same_source) then return nil end
    if not copy and not are_alike then
        topic = related_topic_score(new.topic, old.topic, old.story_topic, same_source)
        if topic == 0 then return nil end
    end
    if not same_page and not same_text and have_same_template(new.specifics, old.specifics) then return nil end
    local class = copy and COPY or topic == 0 and RELATED or SAME_TOPIC
    if same_text then class = same_page and PAGE_UNCHANGED or SAME_TEXT elseif same_page then class = PAGE_CHANGED end
    local share = similarity
    if not same_text and is_of_sets then share = share_of(similarity, new.size, old.size) end
    local is_new_headline = same_source and not same_page and overlap < SAME_TITLES
    local alike = policy.by_titles and (similarity + share) / 2 or similarity
    if not same_text and new.own_parts > 0 then share = share * (new.own_parts / WHOLE_TEXT) end
    return {
        key = candidate, record = old, class = class, ranking_score = topic > 0 and topic or alike, related = not copy,
        same_page = same_page, is_page_changed = same_page and not same_text,
        kept_share = is_new_headline and share < STRONG_EVIDENCE and 0 or share * old.kept_share_parts / WHOLE_TEXT,
    }
end

-- Compare numbers, because Lua compares strings in the order of the server's locale.
local function is_older(a, b)
    local second_a, hash_a = struct.unpack('>I4I4', a)
    local second_b, hash_b = struct.unpack('>I4I4', b)
    if second_a ~= second_b then return second_a < second_b end
    return hash_a < hash_b
end

local function is_better(a, b)
    if a.class ~= b.class then return a.class < b.class end
    if a.ranking_score ~= b.ranking_score then return a.ranking_score > b.ranking_score end
    if a.class == PAGE_UNCHANGED then return is_older(b.key, a.key) end
    return is_older(a.key, b.key)
end

local function best_of(scored)
    local best
    for _, candidate in ipairs(scored) do
        if not best or is_better(candidate, best) then best = candidate end
    end
    return best
end

local function filter(scored, condition)
    local found = {}
    for _, candidate in ipairs(scored) do
        if condition(candidate) then found[#found + 1] = candidate end
    end
    return found
end


local heartbeats, now = {}, nil

-- First and last heartbeat of a run, false if it is dead or over.
local function heartbeats_of(run)
    if heartbeats[run] == nil then
        local first, last = string.match(redis.call('HGET', runs, run) or '', '^(%d+) (%d+)$')
        heartbeats[run] = first and { first = tonumber(first), last = tonumber(last) } or false
    end
    return heartbeats[run]
end

local function state_of_run(run, own)
    local of_run = heartbeats_of(run)
    if not of_run then return LOST end
    if not now then
        local time = redis.call('TIME')
        now = time[1] * 1000 + math.floor(time[2] / 1000)
    end
    local age = now - of_run.last
    if math.abs(age) > DEAD_SECONDS * 1000 then return LOST end
    local of_own = own > 0 and heartbeats_of(own)
    return (age > LATE_SECONDS * 1000 or (of_own and of_run.last < of_own.first)) and LATE or SEEN
end

-- Whether a document counts as seen, late or lost for a run. ``links`` is how many matches may still be followed.
local function state_of(record, own, links)
    if record.run == 0 then return SEEN end
    local run = record.run % IS_DROPPED
    local state = run == own and SEEN or state_of_run(run, own)
    if state == LOST or run == record.run then return state end
    local match = links > 0 and read_record(record.candidate)
    if not match then return LOST end
    return math.max(state, state_of(match, own, links - 1))
end
