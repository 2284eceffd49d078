"""``explain`` on two reports in other words: the terms they share, what these weigh, and what the score must reach."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from other_words import BOTH, BUDGET, BUDGET_NAMES, report
from scrapy_processes import run_scrapy

from scrapy_neardup.rules.decision import SAME_SOURCE_EXTRA

Neardup = Callable[..., str]


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture
def neardup(tmp_path: Path) -> Neardup:
    """Runs the command beside two reports in other words, by one source and without titles, and earlier documents."""
    for name, text in (("a", BUDGET), ("b", BOTH)):
        write(tmp_path / f"{name}.jsonl", [{"id": name, "url": f"https://paper.example/{name}", "text": text}])
    write(tmp_path / "seen.jsonl", [{"id": n, "text": report(BUDGET_NAMES, n)} for n in range(30)])

    def run(*arguments: str) -> str:
        done = run_scrapy(tmp_path, "neardup", *arguments, environment={"COLUMNS": "160"})
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


PAIR = "a.jsonl#a", "b.jsonl#b"


def test_explain_shows_the_shared_terms_and_the_parts_of_the_score(neardup: Neardup) -> None:
    topic = json.loads(neardup("explain", *PAIR, "--json"))["topic"]
    assert {"Skerrow", "Aldermoor", "Fairweather"} < {each["first"] for each in topic["terms"]}
    assert all(each["first"] == each["second"] and 0 < each["weight_in_first"] <= 1 for each in topic["terms"])
    assert topic["score"] == pytest.approx(topic["from_terms"] + topic["from_titles"])
    assert (topic["documents"], topic["learned_from"]) == (0, "no documents")

    printed = neardup("explain", *PAIR)
    needed = 0.26 + SAME_SOURCE_EXTRA
    assert (
        f"score of the topics {topic['score']:.2f} {'>=' if topic['score'] >= needed else '<'} {needed:g}\n" in printed
    )
    assert "no documents came before, so only names and figures are terms; words join them when 20" in printed
    assert " 0 documents" not in printed
    assert "Brandreth" in printed
    assert ("B after A: related" in printed) == (topic["score"] >= needed)


def test_explain_weighs_terms_by_what_was_seen(neardup: Neardup) -> None:
    """A name that every document has says nothing."""
    found = json.loads(neardup("explain", *PAIR, "--seen", "seen.jsonl", "--json"))
    assert (found["topic"]["documents"], found["topic"]["learned_from"]) == (30, "seen.jsonl")
    assert found["topic"]["terms"] == []
    assert found["verdict"]["status"] == "original"
    assert "terms that the topics share 0 < 5" in found["why"]


def test_explain_weighs_terms_as_a_window_does(neardup: Neardup) -> None:
    store = "--store", "sqlite:///window.sqlite"
    neardup("replay", "seen.jsonl", *store)
    printed = neardup("explain", *PAIR, *store)
    assert "how rare terms are is known from 30 documents: " in printed
    assert "in the language of" not in printed
    assert "window.sqlite" in printed
    assert "Brandreth" not in printed.partition("In both")[0].partition("Only in")[0]


def test_explain_shows_no_topic_if_topics_are_off(neardup: Neardup) -> None:
    for off in (("--preset", "cedar"), ("-s", 'NEARDUP_PRESET_OPTIONS={"topic_threshold": 1}')):
        assert json.loads(neardup("explain", *PAIR, *off, "--json"))["topic"] is None
        assert "Topics" not in neardup("explain", *PAIR, *off)


def test_documents_of_another_language_are_not_counted(neardup: Neardup, tmp_path: Path) -> None:
    """The rarity of a term is known from the documents of its language only."""
    japanese = "昨夜、海峡でフェリーが沈没し、救助船が夜明けまで冷たい海を捜索した。船長は扉が開いていたと話した。"
    write(tmp_path / "japanese.jsonl", [{"id": n, "text": japanese} for n in range(30)])
    found = json.loads(neardup("explain", *PAIR, "--seen", "japanese.jsonl", "--json"))["topic"]
    assert (found["documents"], found["documents_of_language"]) == (30, [0, 0])
    printed = neardup("explain", *PAIR, "--seen", "japanese.jsonl")
    assert "about 0 of them are in the language of A, under 20: only its names and figures are terms" in printed


def test_topics_do_not_count_for_a_copy(neardup: Neardup) -> None:
    printed = neardup("explain", "a.jsonl#a", "a.jsonl#a")
    assert "score of the topics" not in printed


def test_reasons_go_on_indented_on_a_narrow_terminal(neardup: Neardup, tmp_path: Path) -> None:
    given = ("neardup", "explain", *PAIR, "--seen", "seen.jsonl")
    printed = run_scrapy(tmp_path, *given, environment={"COLUMNS": "60"}).stdout
    reasons = printed.partition("B after A: original\n")[2].partition("\n\n")[0].splitlines()
    assert len(reasons) > 2
    assert all(line.startswith("  ") and len(line) <= 60 for line in reasons)
