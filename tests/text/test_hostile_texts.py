"""No text, url, title or page holds the loop: what is read takes linear time, and memory has a bound in bytes."""

import sys
import tracemalloc
from typing import Any

import hostile_texts as hostile
import pytest
from news_site import NewsSite, article, page
from projects import ITEM_A_PAGE, Project

from scrapy_neardup.content.head import SHORT_PAGE, decode_html
from scrapy_neardup.content.urls import CanonicalUrls, absolute_url, article_number, url_identity
from scrapy_neardup.document import MOST_CHARACTERS, Document, Verdict
from scrapy_neardup.evidence.sources import LONGEST_URL, source_of
from scrapy_neardup.settings.presets import PRESETS
from scrapy_neardup.sketch.fingerprint import Sketcher
from scrapy_neardup.tools.lab.feed import RecordedDocument
from scrapy_neardup.tools.lab.replay import Judged, OutputFormat, RecordedPage

MOST_GROWTH = 10.0  # for four times as much; 16 is quadratic
LEAST_MS = 1.0  # less is noise


@pytest.fixture(scope="module")
def sketcher() -> Sketcher:
    sketcher = Sketcher(PRESETS["news"])
    sketcher.prepare()
    return sketcher


@pytest.mark.parametrize("kind", hostile.KINDS, ids=[kind.name for kind in hostile.KINDS])
def test_four_times_as_much_takes_at_most_ten_times_as_long(kind: object, sketcher: Sketcher) -> None:
    growth = 0.0
    for _ in range(5):  # the machine may do something else meanwhile
        at_n, at_4n = (hostile.milliseconds(kind, size, sketcher, times=2) for size in (8_000, 32_000))
        growth = at_4n / max(at_n, LEAST_MS)
        if growth <= MOST_GROWTH:
            return
    pytest.fail(f"{growth:.1f} times as long")


def sketch_of(text: str) -> str:
    fingerprint = Sketcher(PRESETS["news"]).fingerprint(Document("00" * 8, "", "", "", text, 0.0))
    return repr(fingerprint)


def test_a_text_is_told_by_what_is_looked_at() -> None:
    text = article("long", 600) + " x" * MOST_CHARACTERS
    assert sketch_of(text) == sketch_of(text[:MOST_CHARACTERS])


def test_a_long_url_is_a_page_of_its_own_source() -> None:
    long, other = (f"https://www.bbc.co.uk/news?{letter}=" + "x" * 3_000_000 for letter in "ab")
    assert source_of(long) == "bbc.co.uk"
    assert url_identity(long) == url_identity(str(long)) != url_identity(other)
    assert len(url_identity(long)) < 100
    assert absolute_url("http://a.com/b/c", "d" * 5000) == "http://a.com/b/" + "d" * 5000
    usual = "https://bbc.co.uk/news?utm_source=x&id=7&" + "utm_medium=" + "y" * (LONGEST_URL - 100)
    assert url_identity(usual) == "bbc.co.uk/news?id=7"


def test_long_urls_are_not_remembered() -> None:
    """500 urls of 100,000 characters would be 50 MB."""
    url_identity("http://a.com/first"), source_of("http://a.com/first")
    tracemalloc.start()
    for number in range(500):
        url = f"http://a.com/{number}?" + "a" * 100_000
        source_of(url), url_identity(url), article_number(url)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 5_000_000
    canonical = CanonicalUrls()
    for number in range(20):
        canonical.of(f"/{number}{'x' * 900}", "http://a.com/" + "y" * 1500 + f"{number}")
    assert all(isinstance(each, int) for pages in canonical._pages.items() for each in (pages[0], *pages[1]))


@pytest.mark.parametrize("encoding", ["utf-8", "gb18030", "euc-jp", "utf-16", "cp1251", "iso2022_jp"])
def test_a_long_page_is_decoded_in_pieces_that_make_no_difference(encoding: str) -> None:
    body = ("Ünïcode текст 漢字 " * 20_000).encode(encoding, "replace")
    assert len(body) > 2 * SHORT_PAGE
    assert decode_html(body, encoding) == body.decode(encoding)


def test_so_many_ids_of_a_replay_are_kept() -> None:
    """Those that are named again stay."""
    output = OutputFormat(most_ids=100)

    def line(number: int, original: str | None = None) -> dict[str, Any]:
        document = Document(f"{number:016x}", "", "", "", "text", 0.0)
        recorded = RecordedDocument(number, "", f"given-{number}", "", "", None, "text", None, None)
        verdict = Verdict("duplicate", original=original or document.id)
        return output.row(Judged(RecordedPage(recorded, "text"), verdict, document))

    first = f"{0:016x}"
    assert line(0)["original"] == "given-0"
    for number in range(1, 500):
        assert line(number, first)["original"] == "given-0"
    assert line(500, f"{1:016x}")["original"] == f"{1:016x}"


GREEDY = """
import resource

def extract(html, url):
    if "greedy" in url:
        held = []
        while len(held) < 4_000:  # MB; a machine that has no such limit is spared
            held.append(bytearray(1 << 20))
    return " ".join(html.split("<p>")[1:])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux counts the memory of a process in this way")
@pytest.mark.slow
def test_a_page_that_takes_all_memory_costs_itself_alone(project: Project, site: NewsSite) -> None:
    project.write("news/greedy.py", GREEDY)
    urls = [site.publish(path, page(article(path))) for path in ("/one", "/greedy", "/two", "/greedy2", "/three")]
    crawl = project.crawl(
        ITEM_A_PAGE,
        urls=urls,
        NEARDUP_EXTRACTOR="news.greedy.extract",
        NEARDUP_EXTRACT_WORKERS=1,
        NEARDUP_EXTRACT_TIMEOUT=60,
    )
    reasons = {item["page"].rpartition("/")[2]: item["neardup_reason"] for item in crawl.items}
    greedy = {"greedy": "extraction-failed", "greedy2": "extraction-failed"}
    assert reasons == {"one": None, "two": None, "three": None, **greedy}
    assert len(crawl.lines("greedy: MemoryError", "a worker process may take 2000000000 bytes")) == 1
    assert len(crawl.lines("WARNING", "a worker process may take")) == 2
