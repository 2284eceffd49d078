"""The window in Redis, on one server or over the shards of several."""
