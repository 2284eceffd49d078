"""Items as a feed has them, and the bundled site of the example project as one day of documents judged by a replay."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from scrapy_processes import run_scrapy

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


EXAMPLE = Path(__file__).parents[2] / "example_project"


@dataclass(frozen=True)
class JudgedSite:
    """The documents with their texts, the output of the replay, and the events."""

    documents: Path
    verdicts: Path
    events: Path


def judged_site(folder: Path) -> JudgedSite:
    if str(EXAMPLE) not in sys.path:
        sys.path.append(str(EXAMPLE))
    from newsroom.site.press import read_pages, read_sources

    sources = read_sources()
    site = JudgedSite(*(folder / f"{name}.jsonl" for name in ("documents", "verdicts", "events")))
    with site.documents.open("w", encoding="utf-8") as file:
        for number, page in enumerate(sorted(read_pages(), key=lambda page: page.published), 1):
            language = sources[urlsplit(page.url).netloc].language
            row = {"id": number, "url": page.url, "title": page.headline, "time": page.published, "language": language}
            file.write(json.dumps({**row, "text": "\n".join(page.paragraphs())}) + "\n")
    replay = ["neardup", "replay", str(site.documents), "-O", str(site.verdicts), "--events", str(site.events)]
    run_scrapy(folder, *replay).check_returncode()
    return site
