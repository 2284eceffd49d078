--[[
Marks a story as a part of one in another shard, unless it has changed since the caller read it.

KEYS[1]  story that moves (see story.lua); it may be new
KEYS[2]  stories of its shard, ZSET story -> the latest second of any member
KEYS[3]  events of its shard that have not ended, ZSET story -> second of the newest source

ARGV[1]  document key of the story that moves
ARGV[2]  its version as the caller read it, see ``version_of``
ARGV[3]  the latest second of any of its members
ARGV[4]  window (seconds)
ARGV[5]  document key of the story that stays

Returns 1 if it is marked, else nil.
]]
local moves, version, last, window, stays = unpack(ARGV)
if version_of(KEYS[1]) ~= version then return nil end
mark_as_moved(KEYS[1], KEYS[2], KEYS[3], moves, stays, last, window)
redis.call('EXPIRE', KEYS[2], 2 * window)
return 1
