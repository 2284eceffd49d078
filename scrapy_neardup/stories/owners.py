"""Owners of sources. Several sources of one owner count as one independent source."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

ALLOWED_OWNERS = (
    'a mapping of sources to their owners ({"a.example": "Press Ltd"}) or of owners to their sources '
    '({"Press Ltd": ["a.example", "b.example"]}), or the path of a JSON file that holds one'
)


def read_owners(value: Any, source_of: Callable[[str], str]) -> dict[str, str]:
    """Return the owner of each source that is listed. Raise ValueError if the value is no such list.

    ``source_of`` returns the source that a domain names.
    """
    if isinstance(value, str | Path) and str(value):
        try:
            value = json.loads(Path(value).read_text(encoding="utf-8"))
        except OSError as error:
            raise ValueError(f"cannot be read: {error.strerror or error}") from error
        except ValueError as error:
            raise ValueError(f"not JSON: {error}") from error
    if not isinstance(value, Mapping):
        raise ValueError(f"not {type(value).__name__}")
    owners: dict[str, str] = {}
    for name, other in value.items():
        pairs = [(name, other)] if isinstance(other, str) else [(domain, name) for domain in _names(other)]
        for domain, owner in pairs:
            if not isinstance(domain, str) or not isinstance(owner, str) or not domain or not owner:
                raise ValueError(f"{domain!r}: {owner!r} is no pair of names")
            source = source_of(domain)
            if owners.setdefault(source, owner) != owner:
                raise ValueError(f"{source!r} has two owners, {owners[source]!r} and {owner!r}")
    return owners


def _names(value: Any) -> list[Any]:
    if not isinstance(value, list | tuple | set | frozenset):
        raise ValueError(f"{value!r} is neither an owner nor a list of sources")
    return sorted(value, key=str)
