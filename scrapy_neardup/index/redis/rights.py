"""The rights that a user of a Redis needs, tried one by one for ``scrapy neardup doctor``."""

from scrapy_neardup.index.store import Call, Client, Commit, Expected


async def refused_commands(client: Client, key: str) -> str:
    """Call each command that a crawl needs, for a key that the last one removes. Return what is refused."""
    calls: list[Call | Commit] = [
        Call("RUNS", key),
        Call("HSET", key, ("field", "value")),
        Call("EXPIRE", key, (60,)),
        *(Call(name, key, ("field",)) for name in ("HGET", "HEXISTS", "HMGET", "HDEL")),
        *(Call(name, key) for name in ("EXISTS", "TYPE", "TTL", "HGETALL", "HLEN")),
        Call("HSCAN", key, (0,)),
        Commit([Expected(Call("HGET", key, ("field",)))], []),
        Call("UNLINK", key),
        Call("XADD", key, ("*", "field", "value")),
        *(Call(name, key, ends) for name, ends in (("XLEN", ()), ("XRANGE", "-+"), ("XREVRANGE", "+-"))),
        Call("UNLINK", key),
    ]
    return "; ".join(dict.fromkeys(str(each) for each in await client.send(calls) if isinstance(each, Exception)))
