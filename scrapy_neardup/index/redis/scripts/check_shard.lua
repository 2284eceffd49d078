--[[
Finds what a document may match in one of several shards and registers the document there, in one step. The caller, who
has the answers of all shards, decides which of the candidates is the match (index/redis/sharded.py).

KEYS and ARGV: candidates.lua, and behind these
KEYS[last]  documents of this shard whose match is not decided yet, HASH document key -> all keys of the document, and
            one byte more if somebody waited for the decision in vain
ARGV[6]     all keys of the document, those of other shards too, 4 bytes each
ARGV[7]     how many candidates are returned at most; one of another story may follow them

Returns, for a document whose match is decided, its record and, if this shard has it, the record and the state of its
match. Else a flat list that begins with an empty string, and then for each candidate that arrived here before, the best
first: its key, its record, its keys if its own match is not decided yet, else an empty string, and its state. Behind
them stand the best two lost candidates, and one whose record is damaged, with an empty record.
]]
local PENDING_SECONDS = 600
local pending, all_keys, most = KEYS[#KEYS], ARGV[6], tonumber(ARGV[7])

local known = redis.call('HGET', records_with(key), key)
if known and redis.call('HEXISTS', pending, key) == 0 then
    local record = unpack_record(known)
    if not record or record.candidate == key then return { known } end
    local old, packed = read_record(record.candidate)
    return old and { known, packed, state_of(old, document.run, MOST_LINKS) } or { known }
end

find_candidates(TOPIC_WEIGHT, known) -- another shard may have another key that both documents share
local scored, lost, damaged = score_candidates()
for _, candidate in ipairs(scored) do candidate.keys = redis.call('HGET', pending, candidate.key) or '' end
table.sort(scored, function(a, b)
    -- Among equals, a candidate that is decided comes first, because nobody has to wait for it.
    local are_equal = a.class == b.class and a.ranking_score == b.ranking_score
    if are_equal and (a.keys == '') ~= (b.keys == '') then return a.keys == '' end
    return is_better(a, b)
end)

local answer = { '' }
local function add(document_key, packed, its_keys, state)
    for _, part in ipairs({ document_key, packed, its_keys, state }) do answer[#answer + 1] = part end
end
local has_other = false
for index, candidate in ipairs(scored) do
    local is_other = candidate.keys == '' and candidate.record.story ~= scored[1].record.story
    -- If none of the best candidates is of another story, add the best one of another story behind them.
    if index <= most or (is_other and not has_other) then
        add(candidate.key, candidate.packed, candidate.keys, candidate.state)
    end
    has_other = has_other or is_other
end
local rejoined, lost_same_page = best_of_lost(lost)
if rejoined then add(rejoined.key, rejoined.packed, '', LOST) end
if lost_same_page and lost_same_page ~= rejoined then add(lost_same_page.key, lost_same_page.packed, '', LOST) end
if damaged then add(damaged, '', '', LOST) end
if not known then
    register(packed_document)
    redis.call('HSET', pending, key, all_keys)
    redis.call('EXPIRE', pending, PENDING_SECONDS)
end
return answer
