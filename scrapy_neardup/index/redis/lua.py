"""Send commands and the Lua scripts of this package, many at a time."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from functools import cache
from importlib import resources

from redis.asyncio import Redis
from redis.asyncio.client import Pipeline
from redis.exceptions import NoScriptError

_READ = {"string": ("STRLEN",), "hash": ("HLEN",), "zset": ("ZCARD",), "list": ("LRANGE", 0, 0)}
_TYPES = {
    **dict.fromkeys(("records", "bands", "runs", "story", "grants"), "hash"),
    **dict.fromkeys(("stories", "events", "ended"), "zset"),
    "frequencies": "string",
    "verdicts": "hash",
    "learned": "list",
}


class Script:
    """``scripts/<name>.lua``. The text is sent to a server that does not know it yet."""

    def __init__(self, name: str) -> None:
        folder = resources.files("scrapy_neardup.index.redis").joinpath("scripts")
        self.source = folder.joinpath(f"{name}.lua").read_text(encoding="utf-8")
        self.digest = hashlib.sha1(self.source.encode(), usedforsecurity=False).hexdigest()


script = cache(Script)

Argument = bytes | str | int
Call = tuple[Script | str, Sequence[str | bytes], Sequence[Argument]]
"""A script, or the name of a plain command, with keys and arguments."""


async def run_all(client: Redis, calls: Sequence[Call]) -> list[object]:
    """Return one answer, or one error of a server, for each call. All keys are under one hash tag.

    The calls travel in order.
    """
    # EVAL also loads the script on the node that runs it, and the user needs no right to load scripts. The first round
    # sends digests only. Each further round repeats the calls that failed, with the text in the first call of each
    # script. There may be several rounds if somebody flushes the scripts in between.
    answers: list[object] = [NoScriptError()] * len(calls)
    sends_text = False
    while missing := [number for number, answer in enumerate(answers) if isinstance(answer, NoScriptError)]:
        taught: set[Script] = set()
        pipeline: Pipeline = client.pipeline(transaction=False)
        for called, keys, arguments in (calls[number] for number in missing):
            if isinstance(called, str):
                pipeline.execute_command(called, *keys, *arguments)
                continue
            # A cluster's pipeline has no evalsha(), although all keys of a call are in one slot.
            command = ("EVAL", called.source) if sends_text and called not in taught else ("EVALSHA", called.digest)
            taught.add(called)
            pipeline.execute_command(*command, len(keys), *keys, *arguments)
        for number, answer in zip(missing, await pipeline.execute(raise_on_error=False), strict=True):
            answers[number] = answer
        sends_text = True
    return answers


def type_of(name: str) -> str:
    """Return the type that a key of ours must have, "" if the key is not ours."""
    return _TYPES.get(name.partition("}:")[2].partition(":")[0], "")


async def run_or_raise(client: Redis, calls: Sequence[Call]) -> list[object]:
    """Return the answers of all calls, as ``run_all``. Raise the error of the first call that failed."""
    answers = await run_all(client, calls)
    raise_error(answers)
    return answers


def raise_error(answers: Iterable[object]) -> None:
    """Raise the first error among the answers of ``run_all``."""
    for answer in answers:
        if isinstance(answer, Exception):
            raise answer


async def wrong_types(client: Redis, names: Iterable[str]) -> dict[str, str]:
    """Find the keys with names of ours that are of another type. Return for each of them a line that says what to do.

    Somebody else made such a key, or it is damaged.
    """
    names = sorted(name for name in names if type_of(name))
    pipeline = client.pipeline(transaction=False)
    for name in names:
        command, *arguments = _READ[type_of(name)]
        pipeline.execute_command(command, name, *arguments)
    answers = await pipeline.execute(raise_on_error=False)
    return {
        name: f"{name} is of another type, but must be a {type_of(name)}: delete this key (DEL)"
        for name, answer in zip(names, answers, strict=True)
        if isinstance(answer, Exception) and "WRONGTYPE" in str(answer)
    }
