"""Write the table of the keys of an event's report, from docs/event.schema.json."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SCHEMA = Path(__file__).parents[1] / "event.schema.json"
NAMES = {"string": "text", "integer": "whole number", "number": "number", "null": "null"}

Schema = dict[str, Any]


def table() -> str:
    """Return the table in Markdown. Raise ValueError if a key has no description."""
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    return "\n".join(["| key | value | meaning |", "|---|---|---|", *_rows(schema, schema["$defs"], "")])


def _rows(schema: Schema, definitions: Schema, prefix: str) -> Iterator[str]:
    for name, given in _keys(schema, definitions).items():
        whole = _whole(given, definitions)
        if not (meaning := given.get("description") or whole.get("description")):
            raise ValueError(f"{SCHEMA.name}: {prefix}{name} has no description")
        yield f"| `{prefix}{name}` | {_value(whole, definitions)} | {meaning} |"
        inner = _whole(whole["items"], definitions) if "items" in whole else whole
        yield from _rows(inner, definitions, f"{prefix}{name}{'[]' if 'items' in whole else ''}.")


def _whole(schema: Schema, definitions: Schema) -> Schema:
    """Return a schema with the definition that it refers to. Of alternatives return the one that is not null."""
    if "$ref" in schema:
        defined: Schema = definitions[schema["$ref"].rpartition("/")[2]]
        return {**defined, **schema}
    others: list[Schema] = [
        each for each in schema.get("oneOf", []) if each.get("type") != "null" and "const" not in each
    ]
    return {**_whole(others[0], definitions), **schema} if others else schema


def _keys(schema: Schema, definitions: Schema) -> Schema:
    keys: Schema = {}
    for part in schema.get("allOf", []):
        keys |= _keys(_whole(part, definitions), definitions)
    own: Schema = schema.get("properties", {})
    return keys | own


def _value(schema: Schema, definitions: Schema) -> str:
    if "const" in schema:
        return f"`{schema['const']}`"
    if "enum" in schema:
        return ", ".join("null" if each is None else f"`{each}`" for each in schema["enum"])
    if "items" in schema:
        inner = _whole(schema["items"], definitions)
        return "list of objects" if _keys(inner, definitions) else f"list: {_value(inner, definitions)}"
    types = schema.get("type", "object")
    named = " or ".join(NAMES.get(each, each) for each in ([types] if isinstance(types, str) else types))
    may_be_null = any(each.get("type") == "null" for each in schema.get("oneOf", []))
    return f"{named} or null" if may_be_null else named
