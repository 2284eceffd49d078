--[[
Finds what a document may match in one of several shards and registers the document there, in one step. Which of the
candidates is its match the caller decides, who has the answers of all shards (index/redis/sharding.py).

KEYS and ARGV: window.lua, and behind these
KEYS[last]  documents of this shard whose match is not decided yet, HASH document key -> all keys of the document, and
            one byte more where somebody waited for it in vain
ARGV[5]     all keys of the document, those of other shards too, 4 bytes each
ARGV[6]     most candidates returned, but for one of another story behind them

Returns, of a document whose match is decided, its record and, if it has one here, the record and the state of its match.
Else a flat list that begins with an empty string, and then of each candidate that arrived here before, the best first:
its key, its record, its keys where its own match is not decided yet, else an empty string, and its state (see
verification.STATES, from 0). Behind them stand the best two of those that are lost, and one whose record is damaged,
with an empty record.
]]
local PENDING_SECONDS = 600
local pending = KEYS[#KEYS]

local known = redis.call('HGET', record_key(key), key)
if known and redis.call('HEXISTS', pending, key) == 0 then
    local as_known = parse(known)
    if not as_known or as_known.candidate == key then return { known } end
    local at = record_key(as_known.candidate)
    local old = at and redis.call('HGET', at, as_known.candidate)
    local matched = old and parse(old)
    if not matched then return { known } end
    return { known, old, state_of(matched, document.run, most_links) }
end

find_candidates(known)
local passed, lost = graded_candidates()
for _, graded in ipairs(passed) do graded.keys = redis.call('HGET', pending, graded.key) or '' end
table.sort(passed, function(a, b)
    -- Of equals one that is decided: it need not be waited for.
    if a.class == b.class and a.alike == b.alike and (a.keys == '') ~= (b.keys == '') then return a.keys == '' end
    return better(a, b)
end)
local answer = { '' }
local function tell(graded)
    for _, part in ipairs({ graded.key, graded.packed, graded.keys, graded.state }) do answer[#answer + 1] = part end
end
local most, has_other = tonumber(ARGV[6]), false
for index, graded in ipairs(passed) do
    local is_other = graded.keys == '' and graded.record.story ~= passed[1].record.story
    -- Behind the best ones the best of another story, if none of them is.
    if index <= most or (is_other and not has_other) then tell(graded) end
    has_other = has_other or is_other
end
local rejoined, before = best_of_lost(lost)
for _, graded in pairs({ rejoined = rejoined, before = before ~= rejoined and before or nil }) do
    graded.keys = ''
    tell(graded)
end
if damaged then tell({ key = damaged, packed = '', keys = '', state = LOST }) end
if not known then
    register(new)
    redis.call('HSET', pending, key, ARGV[5])
    redis.call('EXPIRE', pending, PENDING_SECONDS)
end
return answer
