"""NEARDUP_RECORD: a crawl leaves what it judged as input of ``replay``, which then gives the verdicts of the crawl."""

from __future__ import annotations

import gzip
import json
import stat
from pathlib import Path
from typing import Any

import pytest
from json_lines import read_lines
from news_site import NewsSite, article, page
from projects import ITEM_A_PAGE, NOTING, Item, Project

RECORDED = "recorded.jsonl.gz"
NOTED = {"NEARDUP_RECORD": RECORDED, **NOTING}


def recorded(path: Path) -> list[Item]:
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]


def replayed(project: Project, name: str = RECORDED, *more: str) -> list[Item]:
    done = project.run("neardup", "replay", name, "-O", "verdicts.jsonl", *more)
    assert done.returncode == 0, done.stdout
    return read_lines(project.folder / "verdicts.jsonl")


def test_a_replay_of_the_record_gives_the_verdicts_of_the_crawl(project: Project, site: NewsSite) -> None:
    wire = article("wire")
    texts = {"first": wire, "copy": wire, "other": article("other"), "cut": "\n".join(wire.splitlines()[:2])}
    urls = [site.publish(f"/{name}", page(text)) for name, text in texts.items()]
    urls.append(site.publish("/again", page("Quite another text. " * 20).replace("<head>", CANONICAL)))
    crawl = project.crawl(ITEM_A_PAGE, urls=urls, CONCURRENT_REQUESTS=1, **NOTED)

    rows = recorded(project.folder / RECORDED)
    assert [row["url"] for row in rows] == urls
    assert rows[0]["title"] == "News of the day"
    assert rows[0]["text"] == wire
    assert rows[0]["id"] == crawl.items[0]["neardup_story"]
    assert rows[-1]["canonical"] == f"{site.url}/other"
    assert crawl.lines("INFO", f"NEARDUP_RECORD: judged documents are written to {RECORDED}")

    verdicts = replayed(project)
    assert [row["status"] for row in verdicts] == ["original", "duplicate", "original", "duplicate", "update"]
    for item, row in zip(crawl.items, verdicts, strict=True):
        assert (row["status"], row["kind"]) == (item["neardup_status"], item["neardup_kind"])
        assert (row["similarity"], row["share"]) == (item["neardup_similarity"], item["neardup_share"])


CANONICAL = '<head><link rel="canonical" href="/other">'


def test_dropped_documents_are_recorded_too_and_nobody_else_can_read_them(project: Project, site: NewsSite) -> None:
    urls = [site.publish(f"/{name}", page(article("wire"))) for name in range(3)]
    crawl = project.crawl(ITEM_A_PAGE, urls=urls, NEARDUP_ACTION="drop", **NOTED)
    assert len(crawl.items) == 1
    assert len(recorded(project.folder / RECORDED)) == 3
    assert stat.S_IMODE((project.folder / RECORDED).stat().st_mode) == 0o600


@pytest.mark.slow
def test_a_file_of_json_lines_is_not_packed_and_runs_are_appended(project: Project, site: NewsSite) -> None:
    urls = [site.publish("/", page(article("wire")))]
    for name in ("plain.jsonl", "packed"):
        first, second = (project.crawl(ITEM_A_PAGE, urls=urls, **{**NOTED, "NEARDUP_RECORD": name}) for _ in range(2))
        assert not first.lines("WARNING", "NEARDUP_RECORD")
        (warning,) = second.lines("WARNING", "NEARDUP_RECORD")
        assert f"{name} has documents of an earlier crawl" in warning
        assert "put %(time)s into its name" in warning
        assert [row["status"] for row in replayed(project, name)] == ["original", "duplicate"]
    assert (project.folder / "plain.jsonl").read_bytes()[:1] == b"{"
    assert (project.folder / "packed").read_bytes()[:2] == b"\x1f\x8b"


def test_a_record_that_cannot_be_written_costs_no_item(project: Project, site: NewsSite) -> None:
    urls = [site.publish(f"/{name}", page(article(name))) for name in range(2)]
    settings: dict[str, Any] = {**NOTED, "NEARDUP_RECORD": "/dev/full"}
    crawl = project.crawl(ITEM_A_PAGE, urls=urls, **settings)
    assert crawl.statuses == {"original": 2}
    assert crawl.neardup["record/errors"] == 2
    assert crawl.hints == {"record": 2}
    assert len(crawl.lines("ERROR", "NEARDUP_RECORD: judged documents cannot be written", "No space left")) == 1
