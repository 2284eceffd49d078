"""The Lua scripts of this package, called many at a time."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

from scrapy_neardup.index.redis.lua_block import counts_block, record_block, story_block, window_block
from scrapy_neardup.similarity.policy import Policy

if TYPE_CHECKING:
    from redis.asyncio import Redis
    from redis.asyncio.client import Pipeline

Call = tuple[Sequence[str | bytes], Sequence[bytes]]
"""Keys and arguments."""

_WINDOW = "likeness", "candidates", "postings"
_BEFORE = {"check": _WINDOW, "probe": _WINDOW, "join": ("story",), "claim": ("story",)}
_BLOCKS = {
    "learn": counts_block,
    "deliver": record_block,
    "settle": record_block,
    "join": story_block,
    "claim": story_block,
}


class Script:
    """A block of constants, the scripts that ``scripts/<name>.lua`` shares with others, and that script itself.

    The text is sent to a server that does not know it yet.
    """

    def __init__(self, name: str, block: str = "") -> None:
        self.source = block + "".join(map(_read, (*_BEFORE.get(name, ()), name)))
        self.digest = hashlib.sha1(self.source.encode(), usedforsecurity=False).hexdigest()

    async def run(self, client: Redis, calls: Sequence[Call]) -> list[object]:
        """Return one answer, or one error of the server, for each call. They travel in one round trip, in order."""
        return await run_all(client, [(self, *call) for call in calls])


ScriptCall = tuple[Script, Sequence[str | bytes], Sequence[bytes]]


async def run_all(client: Redis, calls: Sequence[ScriptCall]) -> list[object]:
    """Return one answer, or one error of a server, for each call. The calls to one server travel in order.

    All keys of a call are under one hash tag. Different calls may have different hash tags.
    """
    from redis.exceptions import NoScriptError

    # EVAL also loads the script on the node that runs it, and the user needs no right to load scripts. The first round
    # sends digests only. The second round repeats the calls that failed, with the text in the first call for each hash
    # tag. The third round sends the text in each call, in case somebody flushed the scripts in between.
    answers: list[object] = [NoScriptError()] * len(calls)
    for teach_all in (None, False, True):
        missing = [number for number, answer in enumerate(answers) if isinstance(answer, NoScriptError)]
        if not missing:
            break
        taught: set[object] = set()
        pipeline: Pipeline = client.pipeline(transaction=False)
        for called, keys, arguments in (calls[number] for number in missing):
            is_taught = teach_all
            if teach_all is False:
                where = called, _hash_tag(keys[0])
                is_taught = where not in taught
                taught.add(where)
            # A cluster's pipeline has no evalsha(), although all keys of a call are in one slot.
            command = ("EVAL", called.source) if is_taught else ("EVALSHA", called.digest)
            pipeline.execute_command(*command, len(keys), *keys, *arguments)
        for number, answer in zip(missing, await pipeline.execute(raise_on_error=False), strict=True):
            answers[number] = answer
    return answers


def _hash_tag(key: str | bytes) -> str:
    return (key if isinstance(key, str) else key.decode()).partition("}")[0]


@cache
def _read(name: str) -> str:
    folder = resources.files("scrapy_neardup.index.redis").joinpath("scripts")
    return folder.joinpath(f"{name}.lua").read_text(encoding="utf-8")


@cache
def script(name: str) -> Script:
    """Return a script that is the same for all stores."""
    return Script(name, _BLOCKS[name]() if name in _BLOCKS else "")


def window_script(name: str, policy: Policy, parts: int) -> Script:
    """Return ``check`` or ``probe`` for the stores of a policy."""
    return Script(name, window_block(policy, parts))
