--[[
Finds the best match of a document in the window and registers the document, in one step. KEYS and ARGV: window.lua.

Returns nil for the first of its kind, else a list: state of the match (see verification.STATES, from 0), its key and
record; key and record of the best candidate of another story; key of the same page as a run that died registered it;
key of a candidate whose record is damaged. A missing part is an empty string. A lost match is no match: the document only
rejoins its story, as the first that counts.
]]
local known = redis.call('HGET', record_key(key), key)
if known then
    local as_known = parse(known)
    if not as_known or as_known.candidate == key then return nil end
    local at = record_key(as_known.candidate)
    local packed = at and redis.call('HGET', at, as_known.candidate)
    local old = packed and parse(packed)
    return old and { state_of(old, document.run, most_links), as_known.candidate, packed, '', '', '', '' } or nil
end

find_candidates()
local passed, lost = graded_candidates()
local best, other
for _, graded in ipairs(passed) do
    if not best or better(graded, best) then best = graded end
end
for _, graded in ipairs(passed) do
    local is_of_another = graded.record.story ~= best.record.story
    if is_of_another and (not other or better(graded, other)) then other = graded end
end
local rejoined, before = best_of_lost(lost)
best = best or rejoined

-- Byte 6 is the share that is kept, 34-41 the original, 42-49 the story, 50-57 the candidate, 67-69 the lengths of url
-- and title of the original, which stand last, and 70-73 the run.
if best and (best.related or best.state == LOST) then
    new = sub(new, 1, 41) .. best.record.story .. best.key .. sub(new, 58)
elseif best then
    local old, is_original = best.record, best.record.original == best.key
    local run, match = document.run, best.key
    if drops == 1 and run > 0 and old.run > 0 and is_copy_to_drop(best) then
        run = run + is_dropped
        -- As verification.linked.
        if best.class == 1 and old.run >= is_dropped then match = old.candidate end
    end
    new = sub(new, 1, 5) .. held(best) .. sub(new, 7, 33) .. old.original .. old.story .. match .. sub(new, 58, 66)
        .. (is_original and old.own_lengths or old.tail_lengths) .. struct.pack('>I4', run) .. sub(new, 74)
        .. (is_original and old.own or old.tail)
end
register(new)

if not best then return damaged and { SEEN, '', '', '', '', '', damaged } or nil end
return { best.state, best.key, best.packed, other and other.key or '', other and other.packed or '',
    before and before.key or '', damaged or '' }
