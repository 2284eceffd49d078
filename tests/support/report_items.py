"""Items as a feed has them, for tests of the report."""

from __future__ import annotations

from typing import Any

Item = dict[str, Any]

FERRY = "The night ferry ran aground off Skerrow on Tuesday evening after its steering failed in heavy seas.\n" * 2
LATER = "The coast guard said {} people were taken off by two tugs, and {} of them were treated for shock.\n"


def item(number: int = 0, status: str = "original", **fields: Any) -> Item:
    """Return an item as a feed has it. Those that are no original are like the first one."""
    first = "https://paper0.example/0"
    is_linked = status in ("duplicate", "update", "related")
    return {
        "url": f"https://paper{number}.example/{number}",
        "title": f"Ferry runs aground, report {number}",
        "published": 1_700_000_000 + 600 * number,
        "text": FERRY + LATER.format(40 + number, number),
        "neardup_status": status,
        "neardup_kind": "near" if status == "duplicate" else None,
        "neardup_original": first if is_linked else None,
        "neardup_match": first if is_linked else None,
        "neardup_similarity": 0.8 if is_linked else None,
        "neardup_containment": 0.9 if is_linked else None,
        "neardup_share": 0.85 if is_linked else None,
        "neardup_would_drop": status == "duplicate",
        "neardup_story": None if status == "unchecked" else "6553f100aaaaaaaa",
        "neardup_changes": "people: 40 -> 42" if status == "update" else None,
        "neardup_event": None,
        "neardup_reason": "no-text" if status == "unchecked" else None,
    } | fields
