-- join.lua and claim.lua share this text. KEYS[1] is the story, a HASH. A counter that has
-- never changed may have no field, except "joined". The fields:
--   joined, items, copies, last (second), levels (bits), each a number
--   ids         the newest items: the second at which each counts, and its document key
--   sources     hash of the owner and second at which its first item counts
--   said        values of figures that changed: value, an owner that printed it or SETTLED, and the change by which it
--               came: key of the document, and which of its changes it is. A value has an entry for each such owner
--   changes     those that enough owners confirmed
--   languages   "en 5 de 1"
--   told        items, sources and changes at the last signal
--   neighbours  other stories, packed one behind the other
--   united      document keys of the stories that became a part of this one
--   moved       document key of the story that this one became a part of; then the other fields no longer change
-- and for each member that is kept, by its document key: its number and its packed fields.
-- The entries are those of records/stories.py, the rules those of index/membership.py.
local sub = string.sub

local function second_of(bytes, at)
    return (struct.unpack('>I4', bytes, at))
end

-- The second of the newest source, or of the newest item if there is no source.
local function newest_source(sources, ids)
    local newest = 0
    for at = 1, #sources, SOURCE_BYTES do newest = math.max(newest, second_of(sources, at + 4)) end
    if sources == '' then
        for at = 1, #ids, ITEM_BYTES do newest = math.max(newest, second_of(ids, at)) end
    end
    return newest
end
