-- unite.lua and move.lua share this text.

-- What changes whenever a story changes: with each join, each level and each signal, and if it moves.
local function version_of(story)
    local fields = redis.call('HMGET', story, 'joined', 'levels', 'told', 'moved')
    for index = 1, 4 do fields[index] = fields[index] or '' end
    return table.concat(fields, ' ')
end

local function mark_as_moved(name, stories, events, moves, stays, last, window)
    redis.call('HSET', name, 'moved', stays)
    if redis.call('HEXISTS', name, COUNTERS[1]) == 0 then -- a story that was not kept yet
        for index = 1, NUMBERS do redis.call('HSET', name, COUNTERS[index], 0) end
    end
    redis.call('EXPIRE', name, 2 * window)
    redis.call('ZADD', stories, last, moves)
    redis.call('ZREM', events, moves)
end
