"""The bundled site of the example project as recorded documents, judged by a replay: one day of invented papers."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from scrapy_processes import run_scrapy

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
