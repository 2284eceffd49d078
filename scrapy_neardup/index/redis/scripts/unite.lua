--[[
Makes a story that moves a part of the story that stays, unless one of the two has changed since the caller read them.

KEYS[1]  story that stays (see story.lua); it may be new
KEYS[2]  stories of its shard, ZSET story -> the latest second of any member
KEYS[3]  events of its shard that have not ended, ZSET story -> second of the newest source
KEYS[4]  story that moves, if it is in the same shard; else move.lua has marked it before

ARGV[1]  document key of the story that stays
ARGV[2]  its version as the caller read it, see ``version_of``
ARGV[3]  the latest second of any member
ARGV[4]  second of its newest source, empty if it is no running event
ARGV[5]  window (seconds)
ARGV[6]  document key of the story that moves
ARGV[7]  its version as the caller read it
ARGV[8]  the latest second of any of its members
ARGV[9 ..] fields and values of the story that stays

Returns 1 if the stories are one now, else nil.
]]
local stays, version, last, newest, window, moves, moves_version, moves_last = unpack(ARGV, 1, 8)
if version_of(KEYS[1]) ~= version or (KEYS[4] and version_of(KEYS[4]) ~= moves_version) then return nil end

for at = 9, #ARGV, 2 do redis.call('HSET', KEYS[1], ARGV[at], ARGV[at + 1]) end
redis.call('EXPIRE', KEYS[1], 2 * window)
redis.call('ZADD', KEYS[2], last, stays)
if newest ~= '' then
    redis.call('ZADD', KEYS[3], newest, stays)
    redis.call('EXPIRE', KEYS[3], 2 * window)
end
if KEYS[4] then mark_as_moved(KEYS[4], KEYS[2], KEYS[3], moves, stays, moves_last, window) end
redis.call('EXPIRE', KEYS[2], 2 * window)
return 1
