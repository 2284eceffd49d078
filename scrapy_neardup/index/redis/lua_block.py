"""Write as Lua text what the scripts need from Python: constants, the layout of packed fields, and the policy.

The text is put before the scripts that need it, so no number is written twice.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import ModuleType
from typing import cast

from scrapy_neardup.index import membership, runs
from scrapy_neardup.index.spans import generation_seconds, slice_seconds
from scrapy_neardup.records import feature_counts, stories
from scrapy_neardup.records.documents import RECORD
from scrapy_neardup.records.neighbours import NEIGHBOUR
from scrapy_neardup.records.packing import PackedFields
from scrapy_neardup.similarity import likeness, verification
from scrapy_neardup.similarity.policy import Policy

_POLICY = (
    *("window", "measure", "threshold", "related_threshold", "topic_threshold"),
    *("scope", "collisions", "keep_updates", "by_titles", "drops"),
)
_BITS_OF_EMPTY_WINDOW = 18  # with 100,000 documents a day a shard has 16 postings
_FORMATS = {"B": "B", "H": "I2", "I": "I4"}  # of Python's struct in Lua's
_UNPACK = """\
local function unpack_{kind}(packed, at)
    local start = at or 1
    if #packed < start + {size} or string.sub(packed, start, start + {prefix_end}) ~= {prefix} then return nil end
    local {names}, ending = struct.unpack('{format}', packed, start + {prefix_bytes})
{strings}
    if ending > #packed + 1 or (not at and ending <= #packed) then return nil end
    return {{ {fields} }}, ending
end
local function pack_{kind}(fields)
    return {prefix} .. struct.pack('{format}', {packed}) .. {packed_strings}
end
"""


def window_block(policy: Policy, parts: int) -> str:
    """Return what ``check.lua`` and ``probe.lua`` need, for a window that is spread over so many hash tags.

    The text depends on the policy and not on the namespace: a server is given one text for each configuration.
    """
    values: dict[str, object] = {name: getattr(policy, name) for name in _POLICY}
    values["slice_seconds"] = slice_seconds(policy.window)
    values["generation_seconds"] = generation_seconds(policy.window)
    values["empty_window_bits"] = max(16, _BITS_OF_EMPTY_WINDOW - round(math.log2(parts)))
    table = ", ".join(f"{name} = {_value(value)}" for name, value in values.items())
    constants = _numbers_of(likeness, verification)
    constants |= {state.upper(): number for number, state in enumerate(verification.CANDIDATE_STATES)}
    constants |= {"LATE_SECONDS": runs.LATE_SECONDS, "DEAD_SECONDS": runs.DEAD_SECONDS}
    return f"{_constants(constants)}local policy = {{ {table} }}\n{_functions(RECORD)}"


def record_block() -> str:
    """Return what is needed to read and write records."""
    return _functions(RECORD)


def story_block() -> str:
    """Return what is needed to count and to claim."""
    return _constants(_numbers_of(stories, membership)) + _functions(NEIGHBOUR)


def counts_block() -> str:
    """Return what is needed to add document frequencies."""
    return _constants(_numbers_of(feature_counts))


def _numbers_of(*modules: ModuleType) -> dict[str, object]:
    """Return the constants that modules define or import: all public names in capitals."""
    return {
        name: value
        for module in modules
        for name, value in vars(module).items()
        if name.isupper() and not name.startswith("_") and type(value) in (int, float, bytes)
    }


def _constants(values: Mapping[str, object]) -> str:
    return "".join(f"local {name} = {_value(value)}\n" for name, value in values.items())


def _value(value: object) -> str:
    if str(value) in ("True", "False"):  # numpy's too
        return str(value).lower()
    if isinstance(value, bytes):
        return "'" + "".join(f"\\{byte:03}" for byte in value) + "'"
    if isinstance(value, (str, int)):
        return repr(value)
    number = float(cast("float", value))  # of any type, such as numpy's
    if not math.isfinite(number):
        raise ValueError(f"{value!r} is no number that a Lua script can have")
    return repr(number)


def _functions(layout: PackedFields) -> str:
    """Return ``unpack_<kind>(packed, at)`` and ``pack_<kind>(fields)``.

    The first returns a table by the names of the fields, and where they end; or nil for bytes that are not whole.
    Without ``at`` the fields are to end with the bytes.
    """
    strings = [name for name, each in layout.fields.items() if each.endswith("*")]
    return _UNPACK.format(
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
