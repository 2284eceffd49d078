--[[
Replaces the neighbours of a story. Does nothing if a join has added another neighbour meanwhile, or if the story is
gone.

KEYS[1]  story (see story.lua)
ARGV[1]  the neighbours as they were read
ARGV[2]  those that are kept
]]
if redis.call('HGET', KEYS[1], 'neighbours') == ARGV[1] then redis.call('HSET', KEYS[1], 'neighbours', ARGV[2]) end
