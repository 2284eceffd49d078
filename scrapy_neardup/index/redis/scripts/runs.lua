--[[
Returns the server's time, and all runs.

KEYS[1]  runs: HASH number of the run -> "<first heartbeat> <last heartbeat>", milliseconds by this server's clock
]]
return { redis.call('TIME'), redis.call('HGETALL', KEYS[1]) }
