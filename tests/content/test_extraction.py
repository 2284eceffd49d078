"""What bad input gets: the item passes as ``unchecked`` with its reason, and the crawl goes on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trafilatura
from news_site import Answer, NewsSite, article, page
from projects import Crawl, Project

from scrapy_neardup.content.extractors import extract_with_resiliparse, extract_with_trafilatura

PROSE = article("in every page", 60)

PARAGRAPHS = "".join(f"<p>{article(str(number), 40)}.</p>" for number in range(5))
MENU = " ".join(f"<a href=/{number}>Section Number {number}</a>" for number in range(60))


@pytest.mark.versions
def test_an_article_laid_out_in_a_table_is_found() -> None:
    text = article("in a table")
    page = f"<html><body><p>{MENU}</p><table><tr><td>{MENU}</td><td>{text}</td></tr></table></body></html>"
    found = " ".join(extract_with_trafilatura(page, "").split())
    assert all(line in found for line in text.splitlines())


@pytest.mark.versions
@pytest.mark.parametrize(
    "page",
    [
        f"<html><body><p>Watch.</p><iframe src='/video'/><article>{PARAGRAPHS}</article></body></html>",
        '<html><head><script type="application/ld+json">{"@context": "https://schema.org", "@type": "NewsArticle", '
        f'"articleBody": "{" ".join(PROSE.split())}"}}</script></head><body><div id="app"></div></body></html>',
    ],
    ids=["an iframe that closes itself", "a body in JSON-LD only"],
)
def test_resiliparse_reads_what_trafilatura_reads(page: str) -> None:
    pytest.importorskip("resiliparse")
    words = set(extract_with_trafilatura(page, "").split())
    found = set(extract_with_resiliparse(page, "").split())
    assert len(words) > 40
    assert len(words & found) > 0.9 * len(words)


@pytest.mark.versions
def test_pages_with_prose_are_extracted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[str] = []
    extract = trafilatura.extract

    def counted(html: str, **options: Any) -> str | None:
        tried.append(html)
        return extract(html, **options)

    monkeypatch.setattr(trafilatura, "extract", counted)
    for text in (PARAGRAPHS, f"<p>{'ข่าวจากเมืองท่าในวันนี้' * 60}</p>", f"<p>{'今天港口城市的新闻报道说。' * 60}</p>"):
        assert extract_with_trafilatura(f"<html><body><article>{text}</article></body></html>", "")
    assert len(tried) == 3


SPIDER = """
class News(Pages):
    def request(self, url):
        meta = {"download_maxsize": 2_000_000} if url.endswith("endless") else {}
        return scrapy.Request(url, meta=meta, errback=self.failed, cb_kwargs={"name": url.rpartition("/")[2]})

    def parse(self, response, name):
        yield {"page": name}

    def failed(self, failure):
        yield {"page": failure.request.cb_kwargs["name"]}
"""


def endless() -> Iterator[bytes]:
    while True:
        yield b"<div class='more'><p>There is more to come.</p>" * 500


def broken_off() -> Iterator[bytes]:
    yield page(article("broken off")).partition("</article>")[0].encode()


def deep(tag: str, depth: int = 100_000) -> str:
    return f"<html><body>{f'<{tag}>' * depth}<p>{PROSE}</p>{f'</{tag}>' * depth}</body></html>"


def html(body: bytes, charset: str = "utf-8") -> Answer:
    return Answer(body, f"text/html; charset={charset}")


ACCENTS = page(article("accents").replace("garden", "jardín").replace("castle", "château"))

JUDGED = {
    "good": page(article("good")),
    "latin-1 declared as utf-8": html(ACCENTS.replace("utf-8", "latin-1").encode("latin-1")),
    "utf-16 declared as utf-8": html(page(article("utf-16")).encode("utf-16")),
    "unknown charset": html(page(article("charset")).encode(), "utf-99"),
    "no content type": Answer(page(article("no type")).encode(), ""),
    "NUL bytes": html(page(article("nul").replace(" ", "\0 ", 40)).encode()),
    "invalid utf-8": html(page(article("invalid")).encode().replace(b"e", b"\xff", 20)),
    "broken off": Answer(stream=broken_off),
}
"""Pages with something wrong about them of which the text can still be had."""

UNCHECKED: dict[str, tuple[str, str | Answer]] = {
    "empty": ("no-text", html(b"")),
    "blank": ("no-text", html(b" \r\n " * 50)),
    "nothing but NUL": ("no-text", html(bytes(5000))),
    "no article": (
        "too-short",
        "<html><head><title>Nothing</title></head><body><nav><a href=/>Home</a></nav></body></html>",
    ),
    "caption": ("too-short", page("Nothing but a caption below a photograph.")),
    "image": ("no-text", Answer(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 8, "image/png")),
    "image declared as html": ("no-text", html(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 8)),
    "pdf": ("no-text", Answer(b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n" + bytes(range(256)) * 8, "application/pdf")),
    "json": ("no-text", Answer(b'{"text": "' + PROSE.encode() + b'"}', "application/json")),
    "plain text": ("no-text", Answer(PROSE.encode(), "text/plain")),
    "six megabytes": ("extraction-failed", html(b"<p>" + PROSE.encode() * (6_000_000 // len(PROSE)))),
    "deep divs": ("no-text", deep("div")),
    "deep tables": ("no-text", deep("table><tr><td")),
    "deep spans": ("no-text", deep("span")),
    "endless": ("no-text", Answer(stream=endless)),
}
"""Page -> the reason why its item is unchecked, and what the site answers."""


def publish_all(site: NewsSite) -> list[str]:
    answers = {**JUDGED, **{name: answer for name, (_, answer) in UNCHECKED.items()}}
    return [site.publish("/" + name.replace(" ", "_"), answer) for name, answer in answers.items()]


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawl]:
    """One crawl over all that can be wrong with a page."""
    with NewsSite() as site:
        yield Project(tmp_path_factory.mktemp("bad")).crawl(SPIDER, urls=publish_all(site), LOG_LEVEL="INFO")


@pytest.mark.versions
def test_the_crawl_goes_on_and_ends(crawl: Crawl) -> None:
    assert crawl.status == 0
    assert crawl.stats["finish_reason"] == "finished"
    assert len(crawl.items) == len(JUDGED) + len(UNCHECKED)
    assert not crawl.lines("Traceback")
    assert crawl.stats["waiting_contexts"] == 0


@pytest.mark.versions
def test_each_page_is_judged_or_unchecked_with_its_reason(crawl: Crawl) -> None:
    found = {item["page"].replace("_", " "): (item["neardup_status"], item["neardup_reason"]) for item in crawl.items}
    unchecked = {name: ("unchecked", reason) for name, (reason, _) in UNCHECKED.items()}
    assert found == {**dict.fromkeys(JUDGED, ("original", None)), **unchecked}
    reasons = [reason for reason, _ in UNCHECKED.values()]
    counts = {name: value for name, value in crawl.neardup.items() if name.startswith("unchecked")}
    assert counts == {"unchecked": len(reasons), **{f"unchecked/{each}": reasons.count(each) for each in reasons}}
    (warning,) = crawl.lines("WARNING", "/six_megabytes", "over the limit of 5000000")
    assert warning


BAD_EXTRACTOR = """
import re
import time


def recurse(depth):
    return recurse(depth + 1)


def extract(html, url):
    name = url.rpartition("/")[2]
    if name.startswith("hangs"):
        time.sleep(3600)
    if name == "raises":
        raise LookupError("no such thing")
    if name == "exits":
        raise SystemExit(3)
    if name == "recurses":
        return recurse(0)
    if name == "slow":
        time.sleep(0.2)
    wrong = {"none": None, "bytes": b"text", "number": 5, "empty": "", "blank": " \\n\\t "}
    return wrong.get(name, re.sub("<[^>]*>", " ", html))
"""

FAILING = {
    "raises": "LookupError: no such thing",
    "exits": "SystemExit: 3",
    "recurses": "RecursionError: maximum recursion depth exceeded",
    "none": "the extractor returned NoneType, not str",
    "bytes": "the extractor returned bytes, not str",
    "number": "the extractor returned int, not str",
    "hangs": "not extracted within NEARDUP_EXTRACT_TIMEOUT = 5 s",
}


def bad_extractor(folder: Path, site: NewsSite, names: list[str], timeout: float) -> Crawl:
    project = Project(folder)
    project.write("news/bad.py", BAD_EXTRACTOR)
    urls = [site.publish(f"/{name}", page(article(name))) for name in names]
    return project.crawl(SPIDER, urls=urls, NEARDUP_EXTRACTOR="news.bad.extract", NEARDUP_EXTRACT_TIMEOUT=timeout)


@pytest.mark.slow
def test_a_failing_extractor_costs_no_item(tmp_path: Path) -> None:
    names = [*FAILING, "empty", "blank", "slow", "good"]
    with NewsSite() as site:
        crawl = bad_extractor(tmp_path, site, names, timeout=5)
    assert crawl.status == 0
    assert {item["page"]: (item["neardup_status"], item["neardup_reason"]) for item in crawl.items} == {
        **dict.fromkeys(FAILING, ("unchecked", "extraction-failed")),
        "empty": ("unchecked", "no-text"),
        "blank": ("unchecked", "no-text"),
        "slow": ("original", None),
        "good": ("original", None),
    }
    assert crawl.neardup["unchecked/extraction-failed"] == len(FAILING)
    for name, what in FAILING.items():
        (warning,) = crawl.lines("WARNING", f"No main content: {site.url}/{name}: ")
        assert what in warning
    assert not crawl.lines("Traceback")


@pytest.mark.slow
def test_an_extractor_that_never_returns_holds_up_neither_crawl_nor_exit(tmp_path: Path) -> None:
    names = [f"hangs{number}" for number in range(4)]
    with NewsSite() as site:
        crawl = bad_extractor(tmp_path, site, names, timeout=0.5)
    assert crawl.status == 0
    assert [item["neardup_reason"] for item in crawl.items] == ["extraction-failed"] * 4
