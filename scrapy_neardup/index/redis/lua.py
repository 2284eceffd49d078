"""The Lua scripts of this package, called many at a time, also if a key is of another type than ours.

Constants, the policy, and functions for packed fields are written as Lua text in front of each script. So no number is
written twice.

If a key of Redis has our name but another type, somebody else made it, or it is damaged. It is not touched. A stand-in
replaces it: ``…:records:<slice>`` becomes ``…:records-instead:<slice>``. All processes use the same stand-in, so
nothing else is lost.
"""

from __future__ import annotations

import hashlib
import logging
import math
import re
import time
from collections.abc import Iterable, Sequence
from functools import cache
from importlib import resources
from typing import cast

from redis.asyncio import Redis
from redis.asyncio.client import Pipeline
from redis.exceptions import NoScriptError

from scrapy_neardup import document
from scrapy_neardup.index import membership, runs
from scrapy_neardup.index.horizon import generation_seconds, slice_seconds
from scrapy_neardup.records import documents, feature_counts, members, stories
from scrapy_neardup.records.documents import RECORD
from scrapy_neardup.records.members import NEIGHBOUR
from scrapy_neardup.records.packing import PackedFields
from scrapy_neardup.similarity import likeness, verification
from scrapy_neardup.similarity.policy import Policy

logger = logging.getLogger(__name__)

_WINDOW = "likeness", "candidates", "postings"
_BEFORE = {"check": _WINDOW}
_MODULES = document, documents, members, feature_counts, stories, likeness, verification, membership, runs
_POLICY = (
    *("window", "measure", "threshold", "related_threshold", "topic_threshold"),
    *("scope", "collisions", "keep_updates", "by_titles", "drops"),
)
_FORMATS = {"B": "B", "H": "I2", "I": "I4"}  # of Python's struct in Lua's
_FUNCTIONS = {
    "unpack": """\
local function unpack_{kind}(packed, at)
    local start = at or 1
    if #packed < start + {size} or string.sub(packed, start, start + {prefix_end}) ~= {prefix} then return nil end
    local {names}, ending = struct.unpack('{format}', packed, start + {prefix_bytes})
{strings}
    if ending > #packed + 1 or (not at and ending <= #packed) then return nil end
    return {{ {fields} }}, ending
end
""",
    "pack": """\
local function pack_{kind}(fields)
    return {prefix} .. struct.pack('{format}', {packed}) .. {packed_strings}
end
""",
}
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
    """``scripts/<name>.lua``, behind the scripts that it shares with others and the ``block`` that they all need.

    The text is sent to a server that does not know it yet.
    """

    def __init__(self, name: str, policy: Policy | None = None) -> None:
        text = "".join(map(_read, (*_BEFORE.get(name, ()), name)))
        self.source = block(text, policy) + text
        self.digest = hashlib.sha1(self.source.encode(), usedforsecurity=False).hexdigest()


script = cache(Script)
"""Return a script that is the same for all stores."""

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


@cache
def _read(name: str) -> str:
    folder = resources.files("scrapy_neardup.index.redis").joinpath("scripts")
    return folder.joinpath(f"{name}.lua").read_text(encoding="utf-8")


def block(script: str, policy: Policy | None = None) -> str:
    """Return the constants and functions whose names a script has, and the policy of a window.

    The text depends on the policy and not on the namespace: a server is given one text for each configuration.
    """
    names = set(re.findall(r"\w+", script))
    parts = [f"local {name} = {_value(value)}\n" for name, value in constants().items() if name in names]
    if policy is not None:
        values: dict[str, object] = {name: getattr(policy, name) for name in _POLICY}
        values["slice_seconds"] = slice_seconds(policy.window)
        values["generation_seconds"] = generation_seconds(policy.window)
        parts.append(
            f"local policy = {{ {', '.join(f'{name} = {_value(value)}' for name, value in values.items())} }}\n"
        )
    parts += [
        _function(text, layout)
        for layout in (RECORD, NEIGHBOUR)
        for name, text in _FUNCTIONS.items()
        if f"{name}_{layout.kind}" in names
    ]
    return "".join(parts)


def constants() -> dict[str, object]:
    """Return all constants that a script may use: those in capitals, and the numbers of the states of candidates."""
    found: dict[str, object] = {state.upper(): number for number, state in enumerate(verification.CANDIDATE_STATES)}
    for module in _MODULES:
        public = {name: value for name, value in vars(module).items() if name.isupper() and name[0] != "_"}
        found |= {name: value for name, value in public.items() if type(value) in (int, float, bytes, tuple)}
    return found


def _value(value: object) -> str:
    if str(value) in ("True", "False"):  # numpy's too
        return str(value).lower()
    if isinstance(value, bytes):
        return "'" + "".join(f"\\{byte:03}" for byte in value) + "'"
    if isinstance(value, tuple):
        return f"{{ {', '.join(map(_value, value))} }}"
    if isinstance(value, (str, int)):
        return repr(value)
    number = float(cast("float", value))  # of any type, such as numpy's
    if not math.isfinite(number):
        raise ValueError(f"{value!r} is no number that a Lua script can have")
    return repr(number)


def _function(text: str, layout: PackedFields) -> str:
    """Return ``unpack_<kind>(packed, at)`` or ``pack_<kind>(fields)``.

    The first returns a table with a value for each field name, and the position behind the fields. It returns nil if
    bytes are missing. Without ``at`` it also returns nil if there are bytes behind the fields.
    """
    strings = [name for name, each in layout.fields.items() if each.endswith("*")]
    return text.format(
        kind=layout.kind,
        size=layout.header_bytes - 1,
        prefix=_value(layout.prefix),
        prefix_bytes=len(layout.prefix),
        prefix_end=len(layout.prefix) - 1,
        names=", ".join(layout.fields),
        format=">" + "".join(map(_format, layout.fields.values())),
        strings="\n".join(
            f"    {name}, ending = string.sub(packed, ending, ending + {name} - 1), ending + {name}" for name in strings
        ),
        fields=", ".join(f"{name} = {name}" for name in layout.fields),
        packed=", ".join(f"#fields.{name}" if name in strings else f"fields.{name}" for name in layout.fields),
        packed_strings=" .. ".join(f"fields.{name}" for name in strings),
    )


def _format(each: str) -> str:
    return f"c{each[:-1]}" if each.endswith("s") else _FORMATS[each.rstrip("*")]
