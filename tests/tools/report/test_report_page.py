"""The page as a file: what it counts, what it says is missing, and that nothing in it can run or reach out."""

import base64
import hashlib
import json
import os
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from json_lines import write_lines
from report_items import FERRY, JudgedSite, item
from scrapy_processes import neardup

from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.tools.report.feed_stories import group_stories, matches_of, on_one_site
from scrapy_neardup.tools.report.gathering import gather
from scrapy_neardup.tools.report.news import choose_stories, inert_json
from scrapy_neardup.tools.report.page import Built, build_report

# All characters that change the direction of writing, which Unicode calls Bidi_Control.
TURNING = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
HOSTILE = (
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "\"><svg onload=alert(1)>' -->",
    f"{TURNING}gnp.exe",
    "\ud800 lone",
    "<!--<script>",
)


class Elements(HTMLParser):
    """The start tags of a page, and the content of its scripts and styles."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.contents: dict[str, list[str]] = {"script": [], "style": []}
        self._open = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._open = tag if tag in self.contents else ""
        if self._open:
            self.contents[tag].append("")

    def handle_data(self, data: str) -> None:
        if self._open:
            self.contents[self._open][-1] += data

    def handle_endtag(self, tag: str) -> None:
        self._open = ""


def built(items: list[dict[str, Any]], folder: Path, **settings: Any) -> Built:
    return build_report(gather([feed_of(items, folder)], NearDupSettings(**settings)))


def feed_of(items: list[dict[str, Any]], folder: Path, name: str = "items.jsonl") -> Path:
    return write_lines(folder / name, items)


def notes_of(page: Built) -> str:
    return "\n".join(f"{note.text} {note.remedy}" for note in page.notes)


def policy_of(elements: Elements) -> dict[str, str]:
    (policy,) = [each["content"] for tag, each in elements.tags if each.get("http-equiv") == "Content-Security-Policy"]
    return dict(part.split(" ", 1) for part in policy.split("; "))


def test_the_policy_allows_the_scripts_and_styles_of_the_page_by_hash_and_nothing_else(day_report: Path) -> None:
    elements = Elements(day_report.read_text(encoding="utf-8"))
    policy = policy_of(elements)
    scripts = [given for tag, given in elements.tags if tag == "script"]
    run = [text for text, given in zip(elements.contents["script"], scripts, strict=True) if "type" not in given]
    for name, contents in (("script", run), ("style", elements.contents["style"])):
        digests = [base64.b64encode(hashlib.sha256(content.encode()).digest()).decode() for content in contents]
        assert policy[f"{name}-src"].split() == [f"'sha256-{digest}'" for digest in digests]
    assert policy["default-src"] == "'none'"
    assert "unsafe" not in " ".join(policy.values())


def test_no_element_has_a_style_a_handler_or_an_address_of_the_network(day_report: Path) -> None:
    for tag, attributes in Elements(day_report.read_text(encoding="utf-8")).tags:
        assert "style" not in attributes
        assert not [name for name in attributes if name.startswith("on")]
        assert "src" not in attributes
        if tag != "a":
            assert (attributes.get("href") or "data:,") == "data:,"


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_values_become_neither_elements_nor_broken_text(tmp_path: Path, text: str) -> None:
    names = ("title", "text", "neardup_reason", "neardup_changes", "neardup_news", "language")

    def page_with(value: str) -> str:
        fields = dict.fromkeys(names, value)
        event = {
            "level": "update",
            "story": item()["neardup_story"],
            "time": 1_700_000_000,
            "members": [],
            "growth": [],
        }
        event |= {"lead": value, "facts": [{"words": value, "is_new": True}]}
        return built([item(**fields), item(1, "duplicate", **fields, neardup_event="breaking"), event], tmp_path).html

    page = page_with(text)
    page.encode("utf-8")
    plain, elements = Elements(page_with("plain")), Elements(page)
    assert {tag for tag, _ in elements.tags} == {tag for tag, _ in plain.tags}
    assert len(elements.contents["script"]) == len(plain.contents["script"])
    assert not [attributes for _, attributes in elements.tags if "onerror" in attributes or "onload" in attributes]
    assert not set(TURNING) & set(page)


@pytest.mark.parametrize("url", ["javascript:alert(1)", "data:text/html,<script>", "//[", "file:///etc/passwd"])
def test_only_web_addresses_become_links(tmp_path: Path, url: str) -> None:
    member = {"status": "related", "time": 1_700_000_000}
    members = [{**member, "id": f"m{n}", "title": f"Told by {n}", "url": f"{url}{n}"} for n in range(2)]
    event = {"level": "breaking", "story": "a", "members": members, "growth": []}
    page = built([item(url=url), item(1, "update", url=url), event], tmp_path).html
    assert "Told by 0" in page
    links = [attributes.get("href") or "" for tag, attributes in Elements(page).tags if tag == "a"]
    assert [link for link in links if not link.startswith("#")] == []


@given(st.recursive(st.text(), lambda value: st.lists(value) | st.dictionaries(st.text(), value)))
def test_json_in_a_page_ends_no_script_and_is_the_same_json(value: object) -> None:
    text = inert_json(value)
    assert not re.search("[<>&\u2028\u2029]", text)
    assert json.loads(text) == value


# What the page counts


def test_the_overview_counts_verdicts_and_who_copies_whom(tmp_path: Path) -> None:
    items = [item(), item(1, "duplicate"), item(2, "duplicate"), item(3, "update"), item(4, "unchecked")]
    news = build_report(gather([feed_of(items, tmp_path)], NearDupSettings())).news
    assert news["verdicts"] == {"original": 1, "update": 1, "duplicate": 2, "unchecked": 1}
    assert (news["stories"], news["would_drop"]) == (1, 2)
    copies = [(f"paper{n}.example", 1, 1, "paper0.example") for n in (1, 2, 3)]
    assert news["by_source"] == [*copies, ("paper0.example", 1, 0, ""), ("paper4.example", 1, 0, "")]


def test_no_number_counts_a_page_that_came_again_unchanged(tmp_path: Path) -> None:
    again = [
        item(1, "duplicate", url=item()["url"], neardup_kind="revisit", published=1_700_000_000 + n) for n in range(5)
    ]
    news = built([item(), item(1, "duplicate"), *again], tmp_path).news
    assert (len(news["rows"]), news["again"], news["would_drop"]) == (2, 5, 1)
    assert news["verdicts"] == {"original": 1, "duplicate": 1}
    assert news["kinds"] == {"near": 1}
    assert sum(line[1] for line in news["by_source"]) == 2


def test_the_news_count_the_same_items_as_the_numbers(tmp_path: Path) -> None:
    changed = item(1, "update", url=item()["url"], neardup_match=item()["url"])
    unchanged = item(2, "duplicate", url="https://other.example/", neardup_story="f" * 16, neardup_kind="revisit")
    page = built([item(), changed, item(3, "duplicate"), unchanged], tmp_path)
    assert len(page.news["rows"]) == 3
    assert "1 of 3 items (33%)" in page.html


def test_a_match_is_the_latest_visit_before(tmp_path: Path) -> None:
    same = item()["url"]
    items = [item(), item(1, "update", url=same), item(2, "duplicate"), item(3, "update", url=same)]
    rows = gather([feed_of(items, tmp_path)], NearDupSettings()).rows
    matches = matches_of(rows)
    assert matches[2] == rows[1]
    assert matches[3] == rows[1]


def test_an_article_on_one_site_is_one_that_no_other_source_copies(tmp_path: Path) -> None:
    def of(number: int, site: str, status: str = "original", match: int = 0, **fields: Any) -> dict[str, Any]:
        found = item(number, status, url=f"https://{site}.example/{number}", **fields)
        return found | {"neardup_match": f"https://{chr(97 + match)}.example/{match}" if status != "original" else None}

    rows = [
        of(0, "a"),
        of(1, "b", "duplicate"),
        of(2, "c"),
        of(3, "c", "update", 2),  # of the same site
        of(4, "e", "related"),
        of(5, "f", "duplicate", 25),  # its match is not in the feed
        of(6, "g", "unchecked"),
        of(7, "h"),
        of(8, "i", "update", 7, published=1_600_000_000),  # printed earlier than its match
        item(9, url=""),
    ]
    found = gather([feed_of(rows, tmp_path)], NearDupSettings()).rows
    assert on_one_site(found, matches_of(found)) == {2, 3, 4}


def test_stories_that_a_crawl_united_are_one_story(tmp_path: Path) -> None:
    items = [
        item(neardup_story="a" * 16),
        item(1, neardup_story="b" * 16),
        item(2, "duplicate", neardup_story="b" * 16, neardup_match=item(1)["url"]),
        item(3, "related", neardup_story="a" * 16, neardup_match=item(2)["url"]),
        item(4, neardup_story="c" * 16),
    ]
    rows = gather([feed_of(items, tmp_path)], NearDupSettings()).rows
    stories = group_stories(rows, matches_of(rows))
    assert [[row.number for row in story.members] for story in stories] == [[0, 1, 2, 3], [4]]
    assert sorted(stories[0].keys) == ["a" * 16, "b" * 16]


# What the page says is missing


def test_a_feed_without_tags_says_how_to_turn_them_on(tmp_path: Path) -> None:
    untagged = [{name: value for name, value in item(n).items() if not name.startswith("neardup")} for n in range(3)]
    page = built(untagged, tmp_path)
    assert "3 of 3 items are without a verdict." in notes_of(page)
    assert "ADDONS" in notes_of(page)


def test_a_long_title_is_cut_and_a_long_text_too(tmp_path: Path) -> None:
    page = built([item(title="x" * 1_000_000, text="word " * 1_000_000)], tmp_path)
    assert len(page.html) < 250_000


def test_a_page_that_would_be_too_large_leaves_out_texts_and_then_small_stories_and_says_so(tmp_path: Path) -> None:
    chosen = [
        item(n, neardup_story=f"{n:016x}", title=hashlib.sha256(bytes([n % 256, n // 256])).hexdigest(), text=FERRY)
        for n in range(3000)
    ]
    gathered = gather(
        [feed_of([*chosen, item(1, "duplicate", neardup_story=f"{0:016x}")], tmp_path)], NearDupSettings()
    )
    page = build_report(gathered, most_bytes=500_000)
    assert len(page.html.encode()) <= 500_000
    assert (len(page.news["rows"]), page.news["stories"]) == (3001, 1)
    assert "items are listed" in notes_of(page)


def test_a_page_lists_what_changed_then_the_largest_stories_and_then_the_newest(tmp_path: Path) -> None:
    plain = [item(n, neardup_story=f"{n:016x}") for n in range(1, 9)]
    large = [item(30 + n, "related", neardup_story="e" * 16, published=1_600_000_000) for n in range(10)]
    rows = gather([feed_of([*plain, *large], tmp_path)], NearDupSettings()).rows
    stories = group_stories(rows, matches_of(rows))
    chosen = choose_stories(stories, 1_000_000, 13)
    assert [len(story.members) for story in chosen] == [10, 1, 1, 1]
    assert [story.headline[-1] for story in chosen[1:]] == ["8", "7", "6"]
    assert choose_stories(stories, 1_000_000) == stories
    changed = item(20, neardup_story="f" * 16, published=1_600_000_000), item(21, "update", neardup_story="f" * 16)
    rows = gather([feed_of([*plain, *large, *changed], tmp_path)], NearDupSettings()).rows
    (first,) = choose_stories(group_stories(rows, matches_of(rows)), 1_000_000, 2)
    assert len(first.members) == 2, "what has changed comes before all others"


# The command


def test_the_command_writes_a_page_and_says_what_is_in_it(judged_day: JudgedSite, tmp_path: Path) -> None:
    done = neardup(
        tmp_path, "report", str(judged_day.verdicts), "--documents", str(judged_day.documents), "-o", "day.html"
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("day.html: 88 items, 9 stories of several items, 56 texts, 0.2 MB")
    assert (tmp_path / "day.html").stat().st_size < 1_000_000


def test_standard_input_and_output(tmp_path: Path) -> None:
    done = neardup(tmp_path, "report", "-", "-o", "-", answer=json.dumps(item()) + "\n")
    assert done.returncode == 0
    assert done.stdout.startswith("<!DOCTYPE html>")
    assert "<code>standard input</code>" in done.stdout


def test_a_page_that_cannot_be_written_leaves_the_old_one(tmp_path: Path) -> None:
    page = feed_of([item()], tmp_path).with_name("report.html")
    page.touch(0o600)
    limited = f"cd {tmp_path}; ulimit -f 1; {sys.executable} -B -m scrapy neardup report items.jsonl"
    assert os.waitstatus_to_exitcode(os.system(limited)) == 2
    assert (page.read_bytes(), len(os.listdir(tmp_path))) == (b"", 2)
    assert neardup(tmp_path, "report", "items.jsonl").returncode == 0
    assert (page.stat().st_size > 1024, page.stat().st_mode & 0o777) == (True, 0o600)


def test_a_half_written_line_gives_the_page_and_exit_status_1(tmp_path: Path) -> None:
    feed = feed_of([item(), item(1, "duplicate")], tmp_path)
    feed.write_bytes(feed.read_bytes()[:-20])
    done = neardup(tmp_path, "report", "items.jsonl")
    assert done.returncode == 1
    said = re.compile("items.jsonl:2: not JSON: .*: perhaps the end is half written")
    assert said.search(done.stderr)
    assert said.search((tmp_path / "report.html").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["missing.jsonl"], "missing.jsonl: cannot be read: No such file"),
        (["."], ".: cannot be read: Is a directory"),
        (["items.jsonl", "-o", "items.jsonl"], "items.jsonl: is the input"),
        (["items.jsonl", "-o", "no/folder.html"], "no/folder.html: cannot be read or written"),
        (["items.jsonl", "-o", "/dev/full"], "No space left on device"),
        (["items.jsonl", "--since", "noon"], "--since noon: give a time such as"),
        (["items.jsonl", "--since", "0001-01-01T00:00+14:00"], "+14:00: give a time such as"),
        (["items.jsonl", "--since", "9999-12-31T23:59-12:00"], "-12:00: give a time such as"),
        (["-", "--documents", "-"], "standard input can be read only once"),
    ],
)
def test_a_mistake_is_named_in_one_line(tmp_path: Path, arguments: list[str], problem: str) -> None:
    feed_of([item()], tmp_path)
    done = neardup(tmp_path, "report", *arguments)
    assert done.returncode == 2
    assert problem in done.stderr
    assert "Traceback" not in done.stderr
