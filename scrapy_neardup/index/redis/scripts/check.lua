--[[
Finds the best match of a document in the window and registers the document, in one step. KEYS and ARGV: candidates.lua.

Returns nil for the first of its kind under its own key, else a list: key of the document; key of a document whose record
is damaged; and if there is a match: its state, key and record; key and record of the best candidate of another story;
key of an earlier document of this page, if the match is of another page. A missing part is an empty string. If the state
of the match is lost, the document counts as the first of its kind, and only rejoins the story of the match.
]]
if known then
    local old, packed = read_record(known.candidate)
    if known.candidate == key or not old then return { key, damaged } end
    return { key, damaged, state_of(old, document.run, MOST_LINKS), known.candidate, packed, '', '', '' }
end

local least_dropped = tonumber(ARGV[5])

-- As verification._is_dropped.
local function is_dropped(best)
    return not (best.is_page_changed and policy.keep_updates) and best.kept_share >= least_dropped
end

-- As verification.link_record.
local function link_record(new, best)
    local old = best.record
    new.story, new.candidate = old.story, best.key
    new.story_topic = old.story_topic ~= '' and old.story_topic or old.topic
    if best.related then new.story_topic = add_topic(new.story_topic, new.topic) end
    if best.related or best.state == LOST then return end
    local drops = is_dropped(best)
    if drops then
        new.kept_share_parts = math.max(math.floor(WHOLE_TEXT * best.kept_share), math.ceil(WHOLE_TEXT * least_dropped))
    end
    if drops and policy.drops and new.run > 0 and old.run > 0 then
        new.run = new.run + IS_DROPPED
        if best.class == PAGE_UNCHANGED and old.run >= IS_DROPPED then new.candidate = old.candidate end
    end
    local is_original = old.original == best.key
    new.original = old.original
    new.original_url = is_original and old.url or old.original_url
    new.original_title = is_original and old.title or old.original_title
end

local NOBODY = { key = '', packed = '' }

find_candidates()
local scored, lost = score_candidates()
local best = best_of(scored) or best_of(filter(lost, function(each) return not each.related end))
local best_of_another_story, same_page
if best then
    best_of_another_story = best_of(filter(scored, function(each) return each.record.story ~= best.record.story end))
    if not best.same_page then
        for _, each in ipairs(lost) do scored[#scored + 1] = each end
        same_page = best_of(filter(scored, function(each) return each.same_page end))
    end
end

if best then link_record(document, best) end
register(best and pack_record(document) or packed_document)

if not best then return (key ~= ARGV[1] or damaged ~= '') and { key, damaged } or nil end
local other = best_of_another_story or NOBODY
return { key, damaged, best.state, best.key, best.packed, other.key, other.packed, (same_page or NOBODY).key }
