"""Bytes that are flipped, cut or repeated raise nothing but our own errors.

NEARDUP_TEST_EXAMPLES=166666 reads so many cases of each kind: docs/reliability.md has the figures.
"""

import json
import os
import random
from collections.abc import Callable
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import pytest
from documents import Article, topic
from long_form import tries

from scrapy_neardup.exceptions import StoreError
from scrapy_neardup.index import Policy
from scrapy_neardup.records.documents import new_record, read_record
from scrapy_neardup.records.stories import StoryCounters, pack_member, read_counters, read_members
from scrapy_neardup.rules.decision import Judge
from scrapy_neardup.rules.membership import begin_story, count_join, unite
from scrapy_neardup.rules.pair import Pair
from scrapy_neardup.story import Join, Ledger, Member
from scrapy_neardup.tools.lab.feed import document_of_line, objects_of

CASES = int(os.environ.get("NEARDUP_TEST_EXAMPLES", tries(1000)))
ARTICLE = Article(
    url="https://a.example/1", source="a.example", title="Ferry", figures="4 12", topic="ABcd", headline="xy"
)
POLICY = Policy(drops=True)
LINE = {
    "url": "https://a.example/1",
    "title": "Ferry",
    "text": "Four people died.",
    "time": 1700000000,
    "id": "a",
    "language": "en",
}
ODD = [10**400, -1, 1e308, float("nan"), "\ud800", "", None, [], {}, True, "9999-99-99", "\x00", 2**63, "NaN", [[]]]


def damaged(draw: random.Random, data: bytes) -> bytes:
    """Flip, cut, repeat or insert bytes in one to four places."""
    for _ in range(draw.randrange(1, 5)):
        at, end = sorted(draw.randrange(len(data) + 1) for _ in range(2))
        how = draw.randrange(5)
        if how == 0 and data:
            at = draw.randrange(len(data))
            data = data[:at] + bytes([data[at] ^ 1 << draw.randrange(8)]) + data[at + 1 :]
        elif how == 1:
            data = data[:at]
        elif how == 2:
            data = data[:at] + data[end:]
        elif how == 3:
            data = data[:end] + data[at:end] + data[end:]
        else:
            data = data[:at] + draw.randbytes(draw.randrange(1, 9)) + data[at:]
    return data


def _record(draw: random.Random, folder: Path) -> None:
    new = new_record(ARTICLE.fingerprint, ARTICLE.document, 1)
    other = replace(new, text_hash=bytes(8), url_hash=b"u" * 8, topic=topic("ABce"), life=2)
    old = read_record(damaged(draw, other.pack()))
    if old is None:
        return
    pair = Pair(b"k" * 8, new, old, POLICY, is_seen=draw.choice((True, False)))
    Judge(POLICY).decide(ARTICLE.document, new, [pair]).record.pack()


MEMBERS = [Member(f"{n:016x}", "https://a.example", "Ferry", "a.example", "a.example", "original") for n in (1, 2)]


def _members(draw: random.Random, folder: Path) -> None:
    member = replace(MEMBERS[0], changes=("4 → 12",), language="en", kind=None)
    read_members([(bytes(8), damaged(draw, b"\0\0\0\1" + pack_member(member)))])


def _story(draw: random.Random, folder: Path) -> None:
    counters = StoryCounters()
    ledger = Ledger()
    count_join(counters, ledger, Join(MEMBERS[0], MEMBERS[1]), ())
    other = StoryCounters()
    begin_story(other, Ledger(), MEMBERS[1])
    unite((bytes(8), bytes.fromhex(MEMBERS[1].id)), counters, other, (ledger, Ledger()), ())
    counters = read_counters(b"\xff" * 8, damaged(draw, counters.pack()))
    counters.story(bytes(8), ledger)
    unite((bytes(8), bytes.fromhex(MEMBERS[0].id)), counters, other, (ledger, Ledger()), MEMBERS)


def _line(draw: random.Random, folder: Path) -> None:
    row = {**LINE, draw.choice(list(LINE)): draw.choice(ODD)}
    line = json.dumps(row).encode() if draw.random() < 0.5 else damaged(draw, json.dumps(LINE).encode())
    path = folder / "feed.jsonl"
    for each in objects_of(BytesIO(line), path):
        document_of_line(each, path)


TARGETS: dict[str, Callable[[random.Random, Path], None]] = {
    "records": _record,
    "members": _members,
    "stories": _story,
    "lines of a feed": _line,
}


@pytest.mark.parametrize("target", TARGETS)
def test_damaged_bytes_raise_nothing_but_our_own_errors(tmp_path: Path, target: str) -> None:
    for case in range(CASES):
        try:
            TARGETS[target](random.Random(f"{target} {case}"), tmp_path)
        except StoreError:  # noqa: PERF203
            pass
        except Exception as error:
            raise AssertionError(f"{target}, case {case}") from error
