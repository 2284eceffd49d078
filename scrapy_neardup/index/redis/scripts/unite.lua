--[[
Makes a story that moves a part of the story that stays, unless one of the two has changed since the caller read them.

KEYS[1]  story that stays (see story.lua); it may be new
KEYS[2]  story that moves; it may be new
KEYS[3]  stories, ZSET story -> the latest second of any member
KEYS[4]  events that have not ended, ZSET story -> second of the newest source

ARGV[1]  document key of the story that stays
ARGV[2]  its version as the caller read it, see ``version_of``
ARGV[3]  the latest second of any member of the two
ARGV[4]  second of their newest source, empty if they are no running event
ARGV[5]  document key of the story that moves
ARGV[6]  its version as the caller read it
ARGV[7]  the latest second of any of its members
ARGV[8]  window (seconds)
ARGV[9 ..] fields and values of the story that stays

Returns 1 if the stories are one now, else nil.
]]
local stays, version, last, newest, moves, moves_version, moves_last, window = unpack(ARGV, 1, 8)

-- What changes whenever a story changes: with each join, each level and each signal, and if it moves.
local function version_of(story)
    local fields = redis.call('HMGET', story, 'joined', 'levels', 'told', 'moved')
    for index = 1, 4 do fields[index] = fields[index] or '' end
    return table.concat(fields, ' ')
end

if version_of(KEYS[1]) ~= version or version_of(KEYS[2]) ~= moves_version then return nil end

for at = 9, #ARGV, 2 do redis.call('HSET', KEYS[1], ARGV[at], ARGV[at + 1]) end
redis.call('HSET', KEYS[2], 'moved', stays)
if redis.call('HEXISTS', KEYS[2], COUNTERS[1]) == 0 then -- a story that was not kept yet
    for index = 1, NUMBERS do redis.call('HSET', KEYS[2], COUNTERS[index], 0) end
end
redis.call('EXPIRE', KEYS[1], 2 * window)
redis.call('EXPIRE', KEYS[2], 2 * window)
redis.call('ZADD', KEYS[3], last, stays, moves_last, moves)
redis.call('EXPIRE', KEYS[3], 2 * window)
redis.call('ZREM', KEYS[4], moves)
if newest ~= '' then
    redis.call('ZADD', KEYS[4], newest, stays)
    redis.call('EXPIRE', KEYS[4], 2 * window)
end
return 1
