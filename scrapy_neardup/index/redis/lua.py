"""Send commands and the Lua scripts of this package, many at a time, also if a key is of another type than ours.

If a key of Redis has our name but another type, somebody else made it, or it is damaged. It is not touched. A stand-in
replaces it: ``…:records:<slice>`` becomes ``…:records-instead:<slice>``. All processes use the same stand-in, so
nothing else is lost.
"""

from __future__ import annotations

import hashlib
import logging
import re
import time
from collections.abc import Iterable, Sequence
from functools import cache
from importlib import resources

from redis.asyncio import Redis
from redis.asyncio.client import Pipeline
from redis.exceptions import NoScriptError

logger = logging.getLogger(__name__)

_READ = {"string": ("STRLEN",), "hash": ("HLEN",), "zset": ("ZCARD",), "list": ("LRANGE", 0, 0)}
_TYPES = {
    **dict.fromkeys(("records", "bands", "runs", "story", "grants"), "hash"),
    **dict.fromkeys(("stories", "events", "ended"), "zset"),
    "frequencies": "string",
    "verdicts": "hash",
    "learned": "list",
}
_LOOKED_AT_AGAIN = 10.0  # seconds until a key is tried again: somebody may have removed it


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
    return _TYPES.get(name.partition("}:")[2].partition(":")[0].removesuffix("-instead"), "")


def is_wrong_type(answer: object) -> bool:
    return isinstance(answer, Exception) and "WRONGTYPE" in str(answer)


class WrongTypes:
    """Knows which keys of one namespace and configuration have another type, and warns once about each."""

    def __init__(self) -> None:
        self._found: dict[str, float] = {}  # key -> when it was found, by the monotonic clock
        self._warned: set[str] = set()

    async def run(self, client: Redis, calls: Sequence[Call]) -> list[object]:
        """Return one answer, or one error, for each call, as ``run_all``."""
        answers = await run_all(client, self._with_stand_ins(calls) if self._found else calls)
        failed = [number for number, answer in enumerate(answers) if is_wrong_type(answer)]
        if failed:
            await self.look_at(client, {_text(key) for number in failed for key in calls[number][1]})
            again = await run_all(client, self._with_stand_ins([calls[number] for number in failed]))
            for number, answer in zip(failed, again, strict=True):
                answers[number] = answer
        return answers

    async def run_or_raise(self, client: Redis, calls: Sequence[Call]) -> list[object]:
        """Return the answers of all calls. Raise the error of the first call that failed."""
        answers = await self.run(client, calls)
        for answer in answers:
            if isinstance(answer, Exception):
                raise answer
        return answers

    async def look_at(self, client: Redis, names: Iterable[str]) -> dict[str, str]:
        """Find the keys that are of another type. Return for each of them a line that says what to do."""
        names = sorted(name for name in names if type_of(name))
        pipeline = client.pipeline(transaction=False)
        for name in names:
            command, *arguments = _READ[type_of(name)]
            pipeline.execute_command(command, name, *arguments)
        answers = await pipeline.execute(raise_on_error=False)
        wrong = [name for name, answer in zip(names, answers, strict=True) if is_wrong_type(answer)]
        lines = {}
        for name in wrong:
            self._found[name] = time.monotonic()
            lines[name] = f"{name} is of another type, but must be a {type_of(name)}: delete this key (DEL)"
            if name not in self._warned:
                self._warned.add(name)
                logger.warning("%s. Until then %s stands in for it.", lines[name], _stand_in(name))
        return lines

    def _with_stand_ins(self, calls: Sequence[Call]) -> list[Call]:
        now = time.monotonic()
        self._found = {name: since for name, since in self._found.items() if now - since < _LOOKED_AT_AGAIN}
        stand_ins = {name: _stand_in(name) for name in self._found}
        return [
            (called, [stand_ins.get(_text(key), key) for key in keys], arguments) for called, keys, arguments in calls
        ]


def _stand_in(name: str) -> str:
    return re.sub(r"(\}:\w+)", r"\1-instead", name, count=1)


def _text(key: str | bytes) -> str:
    return key if isinstance(key, str) else key.decode()
