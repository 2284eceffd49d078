"""Work around keys of Redis that have our names but another type: somebody else made them, or they are damaged.

A key of another type is not touched. A stand-in replaces it: ``…:records:<slice>`` becomes
``…:records-instead:<slice>``. All processes use the same stand-in, so nothing else is lost.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, cast

from scrapy_neardup.index.redis.lua import ScriptCall, run_all

if TYPE_CHECKING:
    from redis.asyncio import Redis

logger = logging.getLogger(__name__)

_READ = {"string": ("STRLEN",), "hash": ("HLEN",), "zset": ("ZCARD",), "list": ("LRANGE", 0, 0)}
_TYPES = {
    **dict.fromkeys(("records", "bands", "runs", "pending", "story", "grants"), "hash"),
    **dict.fromkeys(("stories", "events", "peaks"), "zset"),
    "frequencies": "string",
    "learned": "list",
}
_LOOKED_AT_AGAIN = 10.0  # seconds: somebody may have removed the key


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

    async def run(self, client: Redis, calls: Sequence[ScriptCall]) -> list[object]:
        """Return one answer, or one error, for each call of a script, as ``run_all``."""
        answers = await run_all(client, self._with_stand_ins(calls) if self._found else calls)
        failed = [number for number, answer in enumerate(answers) if is_wrong_type(answer)]
        if failed:
            await self.look_at(client, {_text(key) for number in failed for key in calls[number][1]})
            again = await run_all(client, self._with_stand_ins([calls[number] for number in failed]))
            for number, answer in zip(failed, again, strict=True):
                answers[number] = answer
        return answers

    async def look_at(self, client: Redis, names: Iterable[str]) -> list[str]:
        """Find the keys that are of another type; say which, and what to do. Return one line for each."""
        names = sorted(name for name in names if type_of(name))
        pipeline = client.pipeline(transaction=False)
        for name in names:
            command, *arguments = _READ[type_of(name)]
            pipeline.execute_command(command, name, *arguments)
        answers = await pipeline.execute(raise_on_error=False)
        wrong = [name for name, answer in zip(names, answers, strict=True) if is_wrong_type(answer)]
        lines = []
        for name in wrong:
            self._found[name] = time.monotonic()
            lines.append(f"{name} is {await _type(client, name)} and not a {type_of(name)} of this package: DEL it")
            if name not in self._warned:
                self._warned.add(name)
                logger.warning("%s. Until then %s stands in for it.", lines[-1], _stand_in(name))
        return lines

    def _with_stand_ins(self, calls: Sequence[ScriptCall]) -> list[ScriptCall]:
        now = time.monotonic()
        self._found = {name: since for name, since in self._found.items() if now - since < _LOOKED_AT_AGAIN}
        stand_ins = {name: _stand_in(name) for name in self._found}
        return [
            (called, [stand_ins.get(_text(key), key) for key in keys], arguments) for called, keys, arguments in calls
        ]


def _stand_in(name: str) -> str:
    head, separator, tail = name.partition("}:")
    kind, colon, number = tail.partition(":")
    return f"{head}{separator}{kind}-instead{colon}{number}"


def _text(key: str | bytes) -> str:
    return key if isinstance(key, str) else key.decode()


async def _type(client: Redis, name: str) -> str:
    from redis.exceptions import ResponseError

    try:
        return f"a {cast('bytes', await client.type(name)).decode()}"
    except ResponseError:  # the user may not ask
        return "of another type"
