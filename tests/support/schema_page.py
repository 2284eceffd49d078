"""Write docs/event-report.md from the schema: ``python tests/support/schema_page.py > docs/event-report.md``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SCHEMA = Path(__file__).parents[2] / "docs/event.schema.json"
HEAD = """# The report of an event

Each [event](events.md) is sent as one JSON object, the *special report*. This page lists its keys. It is written from
the [JSON schema](event.schema.json) of version 1, and a test compares the two. `sources[].url` means the key `url` of
each entry of the list `sources`.

Times are ISO 8601 text in UTC, such as `2026-03-17T14:31:00Z`.

| key | value | meaning |
|---|---|---|
"""
NAMES = {"string": "text", "integer": "whole number", "number": "number", "null": "null"}

Schema = dict[str, Any]


def page() -> str:
    """Return the whole page."""
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    return HEAD + "".join(f"{row}\n" for row in _rows(schema, schema["$defs"], ""))


def _rows(schema: Schema, definitions: Schema, prefix: str) -> Iterator[str]:
    for name, given in _keys(schema, definitions).items():
        whole = _whole(given, definitions)
        meaning = given.get("description") or whole.get("description", "")
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


if __name__ == "__main__":
    print(page(), end="")
