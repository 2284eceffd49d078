"""The example project: its offline crawl agrees with its truth file, and its feeds spider reads real formats."""

import gzip
import shutil
import subprocess
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest
from json_lines import read_lines
from news_site import Answer, NewsSite
from scrapy_processes import run_python, run_scrapy

pytestmark = pytest.mark.slow

EXAMPLE = Path(__file__).parents[2] / "example_project"

Row = dict[str, Any]
Scrapy = Callable[..., "subprocess.CompletedProcess[str]"]

# Part of the settings of every crawl of this file: a connection or name look-up that leaves the machine is written down
# and fails.
GUARD = """
import os, sys

def guard(event, args):
    if event == "socket.connect" and isinstance(args[1], tuple):
        host = args[1][0]
    elif event in ("socket.getaddrinfo", "socket.gethostbyname"):
        host = args[0]
    else:
        return
    if host not in ("127.0.0.1", "localhost", "::1", b"127.0.0.1", None):
        with open(os.environ["LEAKS"], "a") as leaks:
            leaks.write(f"{event} {host}\\n")
        raise OSError(f"{event} {host} leaves loopback")

sys.addaudithook(guard)
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the example, so that a crawl leaves nothing behind in the checkout."""
    folder = tmp_path_factory.mktemp("example") / "example_project"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns(".scrapy", "__pycache__", "items*.jsonl"))
    with (folder / "newsroom/settings.py").open("a", encoding="utf-8") as settings:
        settings.write(GUARD)
    return folder


@pytest.fixture(scope="module")
def scrapy(project: Path, tmp_path_factory: pytest.TempPathFactory) -> Scrapy:
    """Runs a scrapy command in the project and fails if it tried to reach another machine."""
    leaks = tmp_path_factory.mktemp("guard") / "leaks"

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        leaks.write_text("")
        done = run_scrapy(project, *arguments, environment={"LEAKS": str(leaks)})
        assert leaks.read_text() == ""
        return done

    return run


@pytest.fixture(scope="module")
def items(project: Path, scrapy: Scrapy) -> list[Row]:
    done = scrapy("crawl", "newswire", "-O", "items.jsonl")
    assert done.returncode == 0, done.stderr
    assert " ERROR: " not in done.stderr, done.stderr
    return read_lines(project / "items.jsonl")


@pytest.mark.usefixtures("items")
@pytest.mark.versions
def test_crawl_agrees_with_the_truth_file(project: Path) -> None:
    done = run_python(project, "check_truth.py", "items.jsonl")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "precision 1.000, recall 1.000" in done.stdout


def test_the_first_crawl_rings_for_what_is_new_only(items: list[Row]) -> None:
    (item,) = (item for item in items if item["neardup_event"] == "breaking")
    assert "explosion" in item["title"].lower()


@pytest.fixture
def publisher(site: NewsSite) -> NewsSite:
    site.publish("/robots.txt", Answer(b"User-agent: *\nDisallow: /private/\n", "text/plain"))
    for name in ("rss-new", "rss-old", "private/rss", "atom-new", "map-new", "map-old", "map-undated"):
        site.publish(f"/{name}", ARTICLE.replace("NAME", name))
    return site


NOW = datetime.now(timezone.utc).replace(microsecond=0)
RECENT = NOW - timedelta(hours=2)
OLD = NOW - timedelta(days=3)
STAMP = RECENT.strftime("%Y-%m-%dT%H:%M:%SZ")

ARTICLE = f"""<html><head><title>NAME</title><meta property="article:published_time" content="{STAMP}"></head>
<body><article><h1>The article NAME</h1><p>{"NAME is told in words that nobody has used before. " * 9}</p></article>
</body></html>"""

RSS = """<?xml version="1.0"?><rss version="2.0"><channel><title>News</title><link>{base}</link><description/>
<item><title>Old by RSS</title><link>{base}/rss-old</link><pubDate>{old}</pubDate></item>
<item><title>New by RSS</title><link>{base}/rss-new</link><pubDate>{recent}</pubDate></item>
<item><title>Private by RSS</title><link>{base}/private/rss</link><pubDate>{recent}</pubDate></item>
</channel></rss>"""

ATOM = """<?xml version="1.0" encoding="utf-8"?><feed xmlns="http://www.w3.org/2005/Atom"><title>News</title><id>urn:x</id>
<updated>{recent}</updated><entry><title>New by Atom</title><id>urn:y</id><link href="/atom-new"/>
<published>{recent}</published><updated>{recent}</updated></entry></feed>"""

SITEMAP_INDEX = """<?xml version="1.0"?><sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
<sitemap><loc>{base}/news.xml.gz</loc><lastmod>{recent}</lastmod></sitemap>
<sitemap><loc>{base}/archive.xml</loc><lastmod>{old}</lastmod></sitemap></sitemapindex>"""

NEWS_SITEMAP = """<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"
 xmlns:news="http://www.google.com/schemas/sitemap-news/0.9">
<url><loc>{base}/map-new</loc><news:news><news:publication_date>{recent}</news:publication_date>
<news:title>New by sitemap</news:title></news:news></url>
<url><loc>{base}/map-old</loc><lastmod>{recent}</lastmod><news:news><news:publication_date>{old}</news:publication_date>
<news:title>Old by sitemap</news:title></news:news></url>
<url><loc>{base}/map-undated</loc></url></urlset>"""

FAST = ("-s", "DOWNLOAD_DELAY=0", "-s", "AUTOTHROTTLE_ENABLED=False")


def crawl_feeds(project: Path, scrapy: Scrapy, *arguments: str) -> dict[str, Row]:
    done = scrapy("crawl", "feeds", *arguments, *FAST, "-O", "feeds.jsonl")
    assert done.returncode == 0, done.stderr
    assert " ERROR: " not in done.stderr, done.stderr
    return {row["title"]: row for row in read_lines(project / "feeds.jsonl")}


@pytest.mark.versions
def test_feeds_reads_rss_and_atom_and_obeys_robots(project: Path, scrapy: Scrapy, publisher: NewsSite) -> None:
    rss = RSS.format(base=publisher.url, old=format_datetime(OLD), recent=format_datetime(RECENT))
    feeds = [
        publisher.publish("/rss.xml", Answer(rss.encode(), "application/rss+xml")),
        publisher.publish("/atom.xml", Answer(ATOM.format(recent=RECENT.isoformat()).encode(), "application/atom+xml")),
    ]
    items = crawl_feeds(project, scrapy, "-a", f"feeds={','.join(feeds)}")
    assert set(items) == {"New by RSS", "New by Atom"}
    assert items["New by RSS"]["url"] == f"{publisher.url}/rss-new"
    assert items["New by RSS"]["feed"] == feeds[0]
    assert items["New by Atom"]["published"] == STAMP
    assert "/private/rss" not in publisher.requested


@pytest.mark.versions
def test_feeds_reads_a_sitemap_index_and_a_packed_news_sitemap(
    project: Path, scrapy: Scrapy, publisher: NewsSite
) -> None:
    dates = {"base": publisher.url, "old": OLD.isoformat(), "recent": RECENT.isoformat()}
    packed = gzip.compress(NEWS_SITEMAP.format(**dates).encode())
    news = publisher.publish("/news.xml.gz", Answer(packed, "application/gzip"))
    index = publisher.publish("/sitemap.xml", Answer(SITEMAP_INDEX.format(**dates).encode(), "application/xml"))
    items = crawl_feeds(project, scrapy, "-a", f"sitemaps={index}")
    assert set(items) == {"New by sitemap", "The article map-undated"}
    assert {item["published"] for item in items.values()} == {STAMP}
    assert {item["feed"] for item in items.values()} == {news}
    assert "/archive.xml" not in publisher.requested
