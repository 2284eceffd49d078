"""What a user meets first: a window that is not there, an id that is not there, long lines."""

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest
from json_lines import write_lines
from news_site import NewsSite, article, page
from newsdesk import BOTH, BUDGET, BUDGET_NAMES, report, text, toll
from projects import FERRY, ITEM_A_PAGE, Project
from scrapy_processes import neardup, run_scrapy

from scrapy_neardup import NearDupDetector, NearDupSettings
from scrapy_neardup.tools.lab.replay import opened

STORE = "sqlite:///window.sqlite"


def record(folder: Path, *texts: str) -> None:
    rows = [{"id": f"d{number}", "time": 1_700_000_000 + number, "text": each} for number, each in enumerate(texts, 1)]
    write_lines(folder / "in.jsonl", rows)


# A window that is not there


@pytest.mark.parametrize("command", [("watch",), ("watch", "--window"), ("ask", "coverage", "https://a.example/")])
def test_a_window_that_is_not_there_is_named_with_the_settings_that_name_it(
    project: Project, command: tuple[str, ...]
) -> None:
    project.prepare(ITEM_A_PAGE, {})
    done = run_scrapy(project.folder, "neardup", *command)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert f"{project.folder}/.scrapy/neardup.sqlite: no crawl has kept a window there" in line
    assert "a NEARDUP_STORE in its custom_settings, give that with --store" in line


# Commands that only read


def test_commands_that_only_read_leave_the_file_of_the_window_as_it_is(tmp_path: Path) -> None:
    record(tmp_path, *map(text, range(3)))
    assert neardup(tmp_path, "replay", "in.jsonl", "--store", STORE).returncode == 0
    window = tmp_path / "window.sqlite"
    before, one, other = window.read_bytes(), "in.jsonl#d1", "in.jsonl#d2"
    for command in (
        ("watch", "--window"),
        ("watch",),
        ("watch", "--events"),
        ("ask", "coverage", one),
        ("explain", one, other),
        ("doctor",),
    ):
        done = neardup(tmp_path, *command, "--store", STORE, "--namespace", "mistyped")
        assert done.returncode == 0, done.stderr
        assert window.read_bytes() == before, command
    assert [path.name for path in tmp_path.glob("window.sqlite-*")] == []


@pytest.mark.parametrize("option", ["--window", "--json", "--events"])
def test_an_empty_file_does_not_become_a_window(tmp_path: Path, option: str) -> None:
    (tmp_path / "window.sqlite").touch()
    done = neardup(tmp_path, "watch", option, "--store", STORE)
    assert (done.returncode, done.stdout) == (2, "")
    assert "scrapy neardup watch: error: window.sqlite: no crawl has kept a window there; " in done.stderr
    assert (tmp_path / "window.sqlite").stat().st_size == 0


# Ended early


def test_a_reader_that_closes_its_pipe_ends_a_command_that_prints_a_table(project: Project) -> None:
    project.crawl(FERRY)
    process = project.start("neardup", "watch", "--window")
    process.stdout.close()
    assert process.wait() == 141


@pytest.mark.slow
def test_two_crawls_are_seen_together(project: Project, site: NewsSite) -> None:
    wire = [site.publish(f"/{name}", page(article("wire"))) for name in range(4)]
    other = site.publish("/other", page(article("other")))
    for urls in ([*wire[:2], other], wire[2:]):
        project.crawl(ITEM_A_PAGE, urls=urls)
    done = neardup(project.folder, "watch", "--json", "--store", "sqlite:///.scrapy/neardup.sqlite")
    assert done.returncode == 0, done.stderr
    view = json.loads(done.stdout)
    (story,) = view["stories"]
    assert (story["hour"], story["headline"]) == (4, "News of the day")
    assert view["events"] == []


# Coverage and explain on documents of a window


WINDOW = "--store", "sqlite:///window.sqlite"
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
    return [json.loads(line) for line in neardup(folder, "explain", name, *WINDOW, "--json").stdout.splitlines()]


def test_reports_that_joined_by_topic_show_its_score(folder: Path) -> None:
    by_url = {row["url"]: row for row in similar(folder, FIRST)}
    assert by_url[SECOND]["like"] == "related"
    assert by_url[SECOND]["why"].startswith("topic 0.")
    assert f"related by {by_url[SECOND]['why']}  News from b.e" in neardup(folder, "explain", FIRST, *WINDOW).stdout


def test_explain_says_by_which_terms_two_documents_of_the_window_were_joined(folder: Path) -> None:
    found = json.loads(neardup(folder, "explain", FIRST, SECOND, *WINDOW, "--json").stdout)
    assert found["status"] == "related"
    assert any(line.endswith(">= topic_threshold = 0.28") for line in found["why"])
    printed = neardup(folder, "explain", FIRST, SECOND, *WINDOW).stdout
    assert f"Terms in common\n  {', '.join(found['terms'])}\n" in printed


def test_explain_says_of_which_documents_of_the_window_only_exact_repeats_match(folder: Path) -> None:
    found = json.loads(neardup(folder, "explain", SHORT, SHORTER, *WINDOW, "--json").stdout)
    assert found["status"] == "unchecked"
    assert found["why"][:2] == [f"{name} is too short to compare: only exact repeats match" for name in "AB"]
    assert found["terms"] == []
    printed = neardup(folder, "explain", FIRE, SHORT, *WINDOW).stdout
    assert "B is too short to compare" in printed
    assert "A is too short" not in printed
    assert "Topics" not in printed


@pytest.mark.parametrize(
    "arguments",
    [("explain", FIRST, UNKNOWN), ("ask", "coverage", "https://fire.example:1/new")],
    ids=["explain", "ask"],
)
def test_a_page_that_the_window_lacks_is_told_where_to_look(folder: Path, arguments: tuple[str, ...]) -> None:
    done = neardup(folder, *arguments, *WINDOW)
    assert done.returncode == 2
    assert "not in the window; scrapy neardup watch --window shows what it holds" in done.stderr


def test_explain_weighs_terms_as_a_window_does(tmp_path: Path) -> None:
    """A name that every document has says nothing."""
    pair = [
        {"id": name, "url": f"https://paper.example/{name}", "text": body}
        for name, body in (("a", BUDGET), ("b", BOTH))
    ]
    write_lines(tmp_path / "pair.jsonl", pair)
    write_lines(tmp_path / "seen.jsonl", [{"id": n, "text": report(BUDGET_NAMES, n)} for n in range(30)])
    assert neardup(tmp_path, "replay", "seen.jsonl", *WINDOW).returncode == 0
    found = json.loads(neardup(tmp_path, "explain", "pair.jsonl#a", "pair.jsonl#b", *WINDOW, "--json").stdout)
    assert found["terms"] == []
    assert found["status"] == "original"
    assert "score of the topics 0.00 < topic_threshold + 0.15 = 0.43" in found["why"]
