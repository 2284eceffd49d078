"""What bad input gets: the item passes as ``unchecked`` with its reason. A window belongs to one extractor."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trafilatura
from news_site import Answer, NewsSite, article, page
from projects import ITEM_A_PAGE, Crawl, Project

from scrapy_neardup import NearDupDetector, NearDupSettings
from scrapy_neardup.content.extractors import (
    extract_with_resiliparse,
    extract_with_trafilatura,
    extractor_identity,
    load_extractor,
)
from scrapy_neardup.exceptions import SettingsError

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
    "unknown charset": html(page(article("charset")).encode(), "utf-99"),
    "no content type": Answer(page(article("no type")).encode(), ""),
    "NUL bytes": html(page(article("nul").replace(" ", "\0 ", 40)).encode()),
    "broken off": Answer(stream=broken_off),
}
"""Pages with something wrong about them of which the text can still be had."""

UNCHECKED: dict[str, tuple[str, str | Answer]] = {
    "empty": ("no-text", html(b"")),
    "nothing but NUL": ("no-text", html(bytes(5000))),
    "no article": (
        "too-short",
        "<html><head><title>Nothing</title></head><body><nav><a href=/>Home</a></nav></body></html>",
    ),
    "caption": ("too-short", page("Nothing but a caption below a photograph.")),
    "image": ("no-text", Answer(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 8, "image/png")),
    "pdf": ("no-text", Answer(b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n" + bytes(range(256)) * 8, "application/pdf")),
    "json": ("no-text", Answer(b'{"text": "' + PROSE.encode() + b'"}', "application/json")),
    "six megabytes": ("extraction-failed", html(b"<p>" + PROSE.encode() * (6_000_000 // len(PROSE)))),
    "deep divs": ("no-text", deep("div")),
    "deep tables": ("no-text", deep("table><tr><td")),
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
import time


def extract(html, url):
    name = url.rpartition("/")[2]
    if name == "hangs":
        time.sleep(3600)
    if name == "raises":
        raise LookupError("no such thing")
    return {"bytes": b"text", "blank": " \\n\\t "}.get(name, html)
"""
FAILING = {
    "raises": "LookupError: no such thing",
    "bytes": "the extractor returned bytes, not str",
    "hangs": "not extracted within NEARDUP_EXTRACT_TIMEOUT = 5 s",
}


@pytest.mark.slow
def test_a_failing_extractor_costs_no_item_and_holds_up_neither_crawl_nor_exit(
    project: Project, site: NewsSite
) -> None:
    project.write("news/bad.py", BAD_EXTRACTOR)
    urls = [site.publish(f"/{name}", page(article(name))) for name in ("blank", "good", *FAILING)]
    crawl = project.crawl(SPIDER, urls=urls, NEARDUP_EXTRACTOR="news.bad.extract", NEARDUP_EXTRACT_TIMEOUT=5)
    assert crawl.status == 0
    assert {item["page"]: (item["neardup_status"], item["neardup_reason"]) for item in crawl.items} == {
        **dict.fromkeys(FAILING, ("unchecked", "extraction-failed")),
        "blank": ("unchecked", "no-text"),
        "good": ("original", None),
    }
    assert crawl.neardup["unchecked/extraction-failed"] == len(FAILING)
    for name, what in FAILING.items():
        (warning,) = crawl.lines("WARNING", f"No main content: {site.url}/{name}: ")
        assert what in warning
    assert not crawl.lines("Traceback")


def install(folder: Path, name: str, version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a distribution known as pip does."""
    metadata = folder / f"{name}-{version}.dist-info" / "METADATA"
    metadata.parent.mkdir()
    metadata.write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    monkeypatch.syspath_prepend(folder)


def config(extractor: str | None) -> str:
    settings = NearDupSettings.from_mapping({"NEARDUP_STORE": "memory://", "NEARDUP_EXTRACTOR": extractor})
    return NearDupDetector(settings).index.layout.config


def test_another_extractor_or_version_begins_a_window(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = {name: config(name) for name in ("trafilatura", "resiliparse", "news.extract", "news.other", None)}
    install(tmp_path, "trafilatura", "99.1.0", monkeypatch)
    assert len({*before.values()}) == 5
    assert config("trafilatura") != before.pop("trafilatura")
    assert {name: config(name) for name in before} == before


def test_an_extractor_without_metadata_as_in_a_bundle_has_no_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [])
    assert extractor_identity("resiliparse") == "resiliparse"
    load_extractor("trafilatura")


def test_a_resiliparse_that_is_old_or_broken_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("resiliparse")
    install(tmp_path, "resiliparse", "0.16.0", monkeypatch)
    with pytest.raises(SettingsError, match=r"version 0.16.0 is too old; pip install 'resiliparse>=2'"):
        load_extractor("resiliparse")
    monkeypatch.setitem(sys.modules, "resiliparse.extract.html2text", None)
    with pytest.raises(SettingsError, match="pip install 'resiliparse>=2'"):
        load_extractor("resiliparse")


def test_without_an_extractor_only_items_with_a_text_are_judged(project: Project, site: NewsSite) -> None:
    text = article("own text")
    urls = [site.publish(f"/{name}", page(article(name))) for name in ("own", "none")]
    spider = ITEM_A_PAGE.replace(
        'yield {"page": response.url',
        f'yield {{"text": {text!r} if "own" in response.url else "", "page": response.url',
    )
    crawl = project.crawl(spider, urls=urls, NEARDUP_EXTRACTOR=None)
    found = {item["page"].rpartition("/")[2]: (item["neardup_status"], item["neardup_reason"]) for item in crawl.items}
    assert found == {"own": ("original", None), "none": ("unchecked", "no-text")}
