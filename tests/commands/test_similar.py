"""``similar`` and ``explain`` on documents of a window: topics, stories, updates, and pages that came again."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest
from json_lines import write_lines
from newsdesk import toll
from other_words import BOTH, BUDGET, BUDGET_NAMES, report
from scrapy_processes import neardup

from scrapy_neardup import NearDupDetector, NearDupSettings
from scrapy_neardup.lab.replay import opened

STORE = "--store", "sqlite:///window.sqlite"
FIRST, SECOND, THIRD, FIRE, NEWER = (f"https://{name}.example/news" for name in ("a", "b", "c", "fire", "newer"))
UNKNOWN = "http://nowhere.invalid/news"
SHORT, SHORTER = "https://short.example/news", "https://shorter.example/news"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A window with a story in other words, whose third report is like the second only; and a fire and its update."""
    folder = tmp_path_factory.mktemp("window")
    asyncio.run(_fill(f"sqlite:///{folder}/window.sqlite"))
    return folder


async def _fill(store: str) -> None:
    third = report(" ".join([*BOTH_ONLY, *BUDGET_NAMES.split()[:3]]), "third")
    texts = [(FIRST, BUDGET), (SECOND, BOTH), (THIRD, third), (FIRE, toll(4)), (NEWER, toll(12)), (FIRST, BUDGET)]
    texts += [(SHORT, "The ferry is late."), (SHORTER, "The ferry sank.")]
    start = time.time() - 600
    async with opened(NearDupDetector(NearDupSettings(store=store))) as detector:
        for number, (url, body) in enumerate(texts):
            document = detector.document(body, url=url, title=f"News from {url[8:11]}", seen_at=start + 10 * number)
            await detector.check(document)


BOTH_ONLY = [word for word in BOTH.split() if word.istitle() and word not in BUDGET_NAMES.split()]


def similar(folder: Path, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in neardup(folder, "similar", name, *STORE, "--json").stdout.splitlines()]


def test_reports_that_joined_by_topic_show_its_score(folder: Path) -> None:
    by_url = {row["url"]: row for row in similar(folder, FIRST)}
    assert by_url[SECOND]["like"] == "related"
    assert by_url[SECOND]["topic"] >= 0.26 > by_url[SECOND]["score"]
    assert (
        f"related by topic {by_url[SECOND]['topic']:.3f}  News from b.e"
        in neardup(folder, "similar", FIRST, *STORE).stdout
    )


def test_explain_says_by_which_terms_two_documents_of_the_window_were_joined(folder: Path) -> None:
    found = json.loads(neardup(folder, "explain", FIRST, SECOND, *STORE, "--json").stdout)
    assert found["status"] == "related"
    assert found["topic"]["score"] == found["topic"]["terms"] + found["topic"]["titles"] >= 0.26
    assert f"score of the topics {found['topic']['score']:.2f} >= topic_threshold = 0.28" in found["why"]
    printed = neardup(folder, "explain", FIRST, SECOND, *STORE).stdout
    assert f"Topics: {found['topic']['score']:.3f}\n" in printed


def test_explain_says_of_which_documents_of_the_window_only_exact_repeats_match(folder: Path) -> None:
    found = json.loads(neardup(folder, "explain", SHORT, SHORTER, *STORE, "--json").stdout)
    assert found["status"] == "unchecked"
    assert found["why"][:2] == [f"{name} is too short to compare: only exact repeats match" for name in "AB"]
    assert found["topic"] is None
    printed = neardup(folder, "explain", FIRE, SHORT, *STORE).stdout
    assert "B is too short to compare" in printed
    assert "A is too short" not in printed
    assert "Topics" not in printed


@pytest.mark.parametrize(
    "arguments", [("explain", FIRST, UNKNOWN), ("similar", "https://fire.example:1/new")], ids=lambda each: each[0]
)
def test_a_page_that_the_window_lacks_is_told_where_to_look(folder: Path, arguments: tuple[str, ...]) -> None:
    done = neardup(folder, *arguments, *STORE)
    assert done.returncode == 2
    assert "the window does not have this page (scrapy neardup status shows where it is" in done.stderr
    assert "So the page itself was tried: cannot be fetched: " in done.stderr


def test_explain_weighs_terms_as_a_window_does(tmp_path: Path) -> None:
    """A name that every document has says nothing."""
    pair = [
        {"id": name, "url": f"https://paper.example/{name}", "text": body}
        for name, body in (("a", BUDGET), ("b", BOTH))
    ]
    write_lines(tmp_path / "pair.jsonl", pair)
    write_lines(tmp_path / "seen.jsonl", [{"id": n, "text": report(BUDGET_NAMES, n)} for n in range(30)])
    assert neardup(tmp_path, "replay", "seen.jsonl", *STORE).returncode == 0
    found = json.loads(neardup(tmp_path, "explain", "pair.jsonl#a", "pair.jsonl#b", *STORE, "--json").stdout)
    assert 30 <= found["documents"] <= 32
    assert found["terms"] == []
    assert found["status"] == "original"
    assert "terms that the topics share 0 < 5" in found["why"]
