"""The guides to other packages work as they are written: their settings and their code are run."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from browser import find_chromium
from json_lines import read_lines
from news_site import NewsSite, article, page
from projects import FERRY, Crawl, Project
from redis import Redis
from scrapy_processes import run_python
from servers import RedisServer

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "example_project"
GUIDES = ROOT / "docs/howto"
BLOCK = re.compile(r'^```python title="([^"]+)"\n(.*?)^```$', re.MULTILINE | re.DOTALL)
SITE = "https://www.harbour-courier.example"
FERRY_PAGE = page(article("ferry"), "Ferry runs aground")

CrawlGuide = Callable[..., Crawl]


def blocks(guide: str) -> list[tuple[str, str]]:
    """Return the titles and texts of the blocks of a guide."""
    return BLOCK.findall((GUIDES / guide).read_text("utf-8"))


def settings_of(guide: str) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for title, text in blocks(guide):
        if title == "settings.py":
            exec(text, values)
    return {name: value for name, value in values.items() if name.isupper()}


@pytest.fixture
def crawl_guide(project: Project, site: NewsSite) -> CrawlGuide:
    """Crawls with the spider and the settings of a guide, with this site in place of the invented one."""
    site.publish("/4711", FERRY_PAGE)

    def crawl(guide: str, spider: str, **settings: Any) -> Crawl:
        project.prepare("", {**settings_of(guide), **settings})
        (text,) = [text for title, text in blocks(guide) if title == f"news/spiders/{spider}.py"]
        text = text.replace(SITE, site.url).replace('"harbour-courier.example"', '""')
        project.write(f"news/spiders/{spider}.py", text)
        done = project.run("crawl", spider, "-O", "items.jsonl")
        return project.finished(done.returncode, done.stdout, 0)

    return crawl


@pytest.mark.slow
def test_pages_that_a_script_fills_are_judged(crawl_guide: CrawlGuide, site: NewsSite) -> None:
    site.publish("/", "<h2><a href='/a'>A</a></h2><h2><a href='/b'>B</a></h2>")
    for path in ("/a", "/b"):
        written = json.dumps(FERRY_PAGE).replace("</", "<\\/")
        site.publish(path, f"<!doctype html><script>setTimeout(() => document.write({written}), 100)</script>")
    options = {"executable_path": find_chromium(), "args": ["--no-sandbox", "--disable-dev-shm-usage"]}
    done = crawl_guide("javascript.md", "rendered", PLAYWRIGHT_LAUNCH_OPTIONS=options)
    assert done.statuses == {"original": 1, "duplicate": 1}
    assert {item["title"] for item in done.items} == {"Ferry runs aground"}


def test_an_article_of_a_page_object_is_tagged(crawl_guide: CrawlGuide) -> None:
    (item,) = crawl_guide("scrapy-poet.md", "articles").items
    assert (item["headline"], item["neardup_status"]) == ("Ferry runs aground", "original")
    assert item["articleBody"].split() == article("ferry").split()


@pytest.mark.slow
def test_urls_come_from_the_queue(crawl_guide: CrawlGuide, site: NewsSite, redis_server: RedisServer) -> None:
    site.publish("/4712", FERRY_PAGE)
    with Redis.from_url(redis_server.url) as queue:
        for path in ("/4711", "/4712"):
            queue.rpush("news:start_urls", json.dumps({"url": site.url + path}))
    stores = {"REDIS_URL": redis_server.url, "NEARDUP_STORE": redis_server.url}
    done = crawl_guide("scrapy-redis.md", "news", **stores, MAX_IDLE_TIME_BEFORE_CLOSE=1)
    assert done.statuses == {"original": 1, "duplicate": 1}


def test_the_extension_leaves_the_stats_in_a_file(project: Project) -> None:
    code = dict(blocks("monitoring.md"))
    project.write("news/extensions.py", code["news/extensions.py"])
    settings: dict[str, Any] = {}
    exec(code["news/settings.py"], settings)
    done = project.crawl(FERRY, EXTENSIONS=settings["EXTENSIONS"])
    stats = json.loads((done.folder / "neardup-stats.json").read_text("utf-8"))
    assert (stats["neardup/checked"], stats["neardup/original"], stats["neardup/run/kept"]) == (7, 1, 7)


@pytest.mark.slow
def test_a_script_needs_no_project(site: NewsSite, tmp_path: Path) -> None:
    site.publish("/4711", FERRY_PAGE)
    code = dict(blocks("asyncio.md"))["crawl.py"].replace(SITE, site.url)
    (tmp_path / "crawl.py").write_text(code.replace('"BOT_NAME"', '"NEARDUP_DATA_DIR": "window", "BOT_NAME"'), "utf-8")
    run_python(tmp_path, "crawl.py").check_returncode()
    (item,) = read_lines(tmp_path / "items.jsonl")
    assert (item["title"], item["neardup_status"]) == ("Ferry runs aground", "original")


@pytest.mark.parametrize("guide", sorted(path.name for path in GUIDES.glob("*.md")))
def test_code_that_a_guide_takes_from_a_script_is_in_the_script(guide: str) -> None:
    for title, text in blocks(guide):
        if title.startswith("integrations/"):
            assert text in (EXAMPLE / title).read_text("utf-8")
