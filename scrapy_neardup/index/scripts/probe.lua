--[[
Finds what a document may match in one of several shards and registers the document there, in one step. Which of the
candidates is its match the caller decides, who has the answers of all shards (index/sharding.py).

KEYS and ARGV: window.lua, and behind these
KEYS[last]  documents of this shard whose match is not decided yet, HASH document key -> all keys of the document, and
            one byte more where somebody waited for it in vain
ARGV[5]     all keys of the document, those of other shards too, 4 bytes each
ARGV[6]     most candidates returned, but for one of another story behind them

Returns, of a document whose match is decided, its record and, where it has one here, the record of its match.
Else a flat list that begins with an empty string, and then of each candidate that arrived here before, the best first:
its key, its record, and its keys where its own match is not decided yet, else an empty string.
]]
local PENDING_SECONDS = 600
local pending = KEYS[#KEYS]

local known = redis.call('HGET', record_key(key), key)
if known and redis.call('HEXISTS', pending, key) == 0 then
    local as_known = parse(known)
    if not as_known or as_known.candidate == key then return { known } end
    local at = record_key(as_known.candidate)
    local old = at and redis.call('HGET', at, as_known.candidate)
    return { known, old or nil }
end

find_candidates(known)
local passed = graded_candidates()
for _, graded in ipairs(passed) do graded.keys = redis.call('HGET', pending, graded.key) or '' end
table.sort(passed, function(a, b)
    -- Of equals one that is decided: it need not be waited for.
    if a.class == b.class and a.alike == b.alike and (a.keys == '') ~= (b.keys == '') then return a.keys == '' end
    return better(a, b)
end)
local answer = { '' }
local most, has_other = tonumber(ARGV[6]), false
for index, graded in ipairs(passed) do
    local is_other = graded.keys == '' and graded.record.story ~= passed[1].record.story
    -- Behind the best ones the best of another story, if none of them is.
    if index <= most or (is_other and not has_other) then
        answer[#answer + 1] = graded.key
        answer[#answer + 1] = graded.packed
        answer[#answer + 1] = graded.keys
    end
    has_other = has_other or is_other
end
if not known then
    register(new)
    redis.call('HSET', pending, key, ARGV[5])
    redis.call('EXPIRE', pending, PENDING_SECONDS)
end
return answer
