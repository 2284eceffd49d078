-- Returns the server's time, and all heartbeats: see runs.py.
return { redis.call('TIME'), redis.call('HGETALL', KEYS[1]) }
