"""What a store holds, and being rid of it: by the index, by the detector, by the commands."""

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest
from documents import members_in
from projects import Project
from scrapy_processes import neardup

from scrapy_neardup.detector import NearDupDetector
from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.story import Claim
from scrapy_neardup.text.display import counted
from scrapy_neardup.tools.lab.replay import opened

ONE = "The bridge over the river was closed on Monday after engineers had found cracks in two of its piers. " * 3
TWO = "Voters of the island go to the polls on Sunday to choose the parliament that will draft a constitution. " * 3
FIRST, COPY, OTHER = "https://www.wire.example/a?utm_source=x", "https://news.copy.example/b", "https://other.example/c"


TOKENS = ["0123456789abcdef", "fedcba9876543210"]


@pytest.fixture
async def detector(store_url: str, namespace: str) -> AsyncIterator[NearDupDetector]:
    """Over a window with an original, its copy in another source, and an unlike document of a third."""
    async with opened(NearDupDetector(NearDupSettings(store=store_url, namespace=namespace))) as detector:
        for text, page in ((ONE, FIRST), (ONE, COPY), (TWO, OTHER)):
            await detector.check(detector.document(text, url=page))
        yield detector


async def _status(detector: NearDupDetector, text: str, url: str = "") -> str:
    return (await detector.check(detector.document(text, url=url))).status


@pytest.mark.parametrize("source", ["wire.example", "https://amp.wire.example/any/page"])
async def test_a_purged_source_is_named_by_nothing(detector: NearDupDetector, source: str) -> None:
    assert await detector.purge(source=source, dry_run=True) == 2, "its document and the copy that names it"
    assert await detector.purge(source=source) == 2
    summary = await detector.index.summary()
    assert (summary.documents, summary.stories) == (1, 0), "a story goes with its original"
    assert await _status(detector, ONE) == "original"
    assert await _status(detector, TWO) == "duplicate"


async def test_a_purged_copy_leaves_its_original(detector: NearDupDetector) -> None:
    story = (await detector.check(detector.document(ONE))).story
    assert await detector.purge(source="copy.example") == 1
    assert await _status(detector, ONE) == "duplicate"
    assert "copy.example" not in {member.source for member in await members_in(detector.index, story)}


@pytest.mark.every_store
async def test_purging_all_leaves_no_document_and_no_story(detector: NearDupDetector) -> None:
    assert await detector.purge() == 3
    summary = await detector.index.summary()
    assert (summary.documents, summary.stories, summary.events) == (0, 0, 0)
    assert await _status(detector, ONE) == "original"


async def test_nothing_is_purged_of_another_source_page_or_namespace(
    detector: NearDupDetector, store_url: str, namespace: str
) -> None:
    other = NearDupDetector(NearDupSettings(store=store_url, namespace=f"{namespace}-2"))
    await other.open()
    assert await other.purge() == 0
    assert await detector.purge(source="example.org") == 0
    assert await detector.purge(url="https://www.wire.example/ab") == 0
    assert (await detector.index.summary()).documents == 3
    await other.close()


@pytest.mark.parametrize("purged", ["wire.example", "copy.example"])
async def test_a_purged_source_leaves_no_event_that_waits(detector: NearDupDetector, purged: str) -> None:
    copy = detector.document(ONE, url="https://third.example/b")
    story = (await detector.check(copy)).story
    other = detector.document(TWO, url="https://fourth.example/c")
    other_story = (await detector.check(other)).story
    (tipping,) = [each.id for each in await members_in(detector.index, story) if each.source == "copy.example"]
    for key, item, token in ((story, tipping, TOKENS[0]), (other_story, other.id, TOKENS[1])):
        assert await detector.index.events.claim(Claim(key, "watch", token=token, item=item))
    await detector.purge(source=purged)
    assert [each.claim.token for each in await detector.index.events.take_over(0)] == [TOKENS[1]]


async def test_a_purged_story_is_no_running_event(detector: NearDupDetector) -> None:
    again = await detector.check(detector.document(ONE, url=COPY))
    assert await detector.index.events.claim(Claim(str(again.story), "watch", token=TOKENS[0], item=again.id))
    assert (await detector.index.summary()).events == 1
    await detector.purge(source="wire.example")
    assert (await detector.index.summary()).events == 0


# The commands


@pytest.fixture
async def project(tmp_path: Path) -> Path:
    """A project whose settings name a relative SQLite file, with three documents in it."""
    Project(tmp_path).prepare("", {"NEARDUP_STORE": "sqlite:///seen.sqlite", "NEARDUP_NAMESPACE": "papers"})
    (tmp_path / ".scrapy").mkdir()
    settings = NearDupSettings(store=f"sqlite:///{tmp_path}/.scrapy/seen.sqlite", namespace="papers")
    async with opened(NearDupDetector(settings)) as detector:
        for text, url in ((ONE, FIRST), (ONE, COPY), (TWO, OTHER)):
            await detector.check(detector.document(text, url=url, seen_at=1_700_000_000))
    return tmp_path


def documents_in(project: Path) -> int:
    with closing(sqlite3.connect(project / ".scrapy/seen.sqlite")) as sql:
        in_slices = "SELECT count(*) FROM keys JOIN entries ON id = key WHERE name LIKE '%:records:%'"
        return int(sql.execute(in_slices).fetchone()[0])


def test_status_shows_the_window_of_the_project(project: Path) -> None:
    done = neardup(project, "watch", "--window")
    assert done.returncode == 0
    text = " ".join(done.stdout.split())
    for shown in ("seen.sqlite", "papers", "2023-11-14T22:00Z │ 3", "window 24 hours", "threshold 0.45", "SQLite"):
        assert shown in text


@pytest.mark.parametrize(
    ("arguments", "answer", "what"),
    [
        ((), "", "3 documents, all stories and events, and all learned text?"),
        (("--source", "www.wire.example"), "no\n", "2 documents: those of wire.example, and their copies elsewhere?"),
    ],
)
def test_purge_asks_and_takes_no_for_an_answer(
    project: Path, arguments: tuple[str, ...], answer: str, what: str
) -> None:
    done = neardup(project, "purge", *arguments, answer=answer)
    assert done.returncode == 1
    assert done.stderr.startswith("Remove from namespace 'papers' in ")
    assert f"{what} [y/N]" in done.stderr
    assert documents_in(project) == 3


@pytest.mark.parametrize(
    ("arguments", "answer", "left"),
    [
        ([], "y\n", 0),
        (["--source", "wire.example", "--yes"], "", 1),
        (["--url", COPY, "--yes"], "", 2),
        (["--namespace", "others", "--yes"], "", 3),
    ],
)
def test_purge_removes_what_it_is_told(project: Path, arguments: list[str], answer: str, left: int) -> None:
    done = neardup(project, "purge", *arguments, answer=answer)
    assert (done.returncode, done.stdout.strip()) == (0, f"Removed {counted(3 - left, 'document')}.")
    assert documents_in(project) == left


@pytest.mark.parametrize(("option", "value"), [("--source", "example.org"), ("--url", "https://www.wire.example/typo")])
def test_purge_of_what_is_not_there_says_so(project: Project, option: str, value: str) -> None:
    done = neardup(project, "purge", option, value, "--yes")
    assert (done.returncode, done.stdout) == (0, "Removed 0 documents.\n")
    assert done.stderr.startswith(f"The window has no document of {value}. Check the spelling.")
    assert "Feeds may hold" not in done.stderr


@pytest.mark.parametrize(("option", "value"), [("--source", ""), ("--url", ""), ("--source", " ")])
def test_an_empty_selection_is_not_the_whole_namespace(project: Path, option: str, value: str) -> None:
    """A variable of a shell may be unset."""
    done = neardup(project, "purge", option, value, "--yes")
    assert (done.returncode, documents_in(project)) == (2, 3)
    assert "it is empty" in done.stderr


def test_status_of_a_window_that_was_emptied(project: Path) -> None:
    neardup(project, "purge", "--source", "wire.example", "--yes")
    neardup(project, "purge", "--source", "other.example", "--yes")
    done = neardup(project, "watch", "--window")
    assert (done.returncode, "hour (UTC)" in done.stdout) == (0, False)
    assert done.stderr.endswith("is empty.\n")
