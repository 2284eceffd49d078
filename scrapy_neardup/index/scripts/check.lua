--[[
Finds the best match of a document in the window and registers the document, in one step. KEYS and ARGV: window.lua.

Returns nil for the first of its kind, else key and record of the best match, and behind them key and record of the best
candidate of another story if there is one.
]]
local known = redis.call('HGET', record_key(key), key)
if known then
    local as_known = parse(known)
    if not as_known or as_known.candidate == key then return nil end
    local at = record_key(as_known.candidate)
    local old = at and redis.call('HGET', at, as_known.candidate)
    return old and { as_known.candidate, old } or nil
end

find_candidates()
local passed = graded_candidates()
local best, other
for _, graded in ipairs(passed) do
    if not best or better(graded, best) then best = graded end
end
for _, graded in ipairs(passed) do
    local is_of_another = graded.record.story ~= best.record.story
    if is_of_another and (not other or better(graded, other)) then other = graded end
end

-- Byte 6 is the share that is kept, 34-41 the original, 42-49 the story, 50-57 the candidate, and 67-69 the lengths of
-- url and title of the original, which stand last.
if best and best.related then
    new = sub(new, 1, 41) .. best.record.story .. best.key .. sub(new, 58)
elseif best then
    local old, is_original = best.record, best.record.original == best.key
    new = sub(new, 1, 5) .. held(best) .. sub(new, 7, 33) .. old.original .. old.story .. best.key .. sub(new, 58, 66)
        .. (is_original and old.own_lengths or old.tail_lengths) .. sub(new, 70)
        .. (is_original and old.own or old.tail)
end
register(new)

if not best then return nil end
if not other then return { best.key, best.packed } end
return { best.key, best.packed, other.key, other.packed }
