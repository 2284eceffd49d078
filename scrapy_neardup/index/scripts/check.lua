--[[
Finds the best match of a document in the window and registers the document, in one step. KEYS and ARGV: window.lua.

Returns nil for the first of its kind, else the key and the record of the best match; and, where others pass too, the
record of the best one of another story.
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

-- Bytes 26-33 are the original, 34-41 the story, 42-49 the candidate, 55-57 the lengths of url and title.
if best and best.related then
    new = sub(new, 1, 33) .. best.record.story .. best.key .. sub(new, 50)
elseif best then
    local head_and_sketch = #new - #document.tail
    new = sub(new, 1, 25) .. best.record.original .. best.record.story .. best.key .. sub(new, 50, 54)
        .. best.record.lengths .. sub(new, 58, head_and_sketch) .. best.record.tail
end
register(new)

return best and { best.key, best.packed, other and other.packed } or nil
