"""``explain`` on two reports in other words: the terms they share, what these weigh, and what the score must reach."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from json_lines import write_lines
from other_words import BOTH, BUDGET, BUDGET_NAMES, report
from scrapy_processes import run_scrapy

Neardup = Callable[..., str]


@pytest.fixture
def neardup(tmp_path: Path) -> Neardup:
    """Runs the command beside two reports in other words, by one source and without titles, and earlier documents."""
    for name, text in (("a", BUDGET), ("b", BOTH)):
        write_lines(tmp_path / f"{name}.jsonl", [{"id": name, "url": f"https://paper.example/{name}", "text": text}])
    write_lines(tmp_path / "seen.jsonl", [{"id": n, "text": report(BUDGET_NAMES, n)} for n in range(30)])

    def run(*arguments: str) -> str:
        done = run_scrapy(tmp_path, "neardup", *arguments, environment={"COLUMNS": "160"})
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


PAIR = "a.jsonl#a", "b.jsonl#b"


def test_explain_weighs_terms_as_a_window_does(neardup: Neardup) -> None:
    """A name that every document has says nothing."""
    store = "--store", "sqlite:///window.sqlite"
    neardup("replay", "seen.jsonl", *store)
    found = json.loads(neardup("explain", *PAIR, *store, "--json"))
    assert 30 <= found["documents"] <= 32
    assert found["terms"] == []
    assert found["status"] == "original"
    assert "terms that the topics share 0 < 5" in found["why"]
