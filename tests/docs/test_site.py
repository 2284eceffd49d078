"""The built site: its links, its list for language models, and a search that answers what readers ask."""

import functools
import http.server
import re
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

pytest.importorskip("material", reason="the site is built by mkdocs-material, which tox installs")

ROOT = Path(__file__).parents[2]
MENU = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
PAGES = [name.removesuffix(".md") + ".html" for name in re.findall(r"[\w/-]+\.md$", MENU, re.MULTILINE)]
# Of each query, places that answer it.
ANSWERS = {
    "minimum sources": ["faq.html#what-is-the-minimum-of-sources-for-an-alert"],
    "time zone": ["settings.html#neardup_events_timezone", "faq.html#which-time-zone-do-times-have"],
    "JSON-LD": ["faq.html#does-it-read-json-ld"],
    "archive": ["howto/archive.html"],
    "delete the data of a source": ["faq.html#how-do-i-delete-the-data-of-a-source", "howto/purge.html"],
    "what does it cost": ["faq.html#what-does-a-page-cost"],
    "keep for three days": ["faq.html#how-do-i-keep-documents-for-three-days-and-not-one"],
}


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the built site."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True)
    handler = functools.partial(_Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_every_link_leads_somewhere(site: str) -> None:
    """The build is strict: a warning, such as a link to a heading that is gone, fails it."""
    with urllib.request.urlopen(f"{site}/settings.html") as answer:
        assert b'id="neardup_window"' in answer.read()


def test_language_models_get_a_list_of_the_pages(site: str) -> None:
    with urllib.request.urlopen(f"{site}/llms.txt") as answer:
        title, summary, *parts = answer.read().decode().strip().split("\n\n")
    assert (title, summary[:2], parts[-2]) == ("# scrapy-neardup", "> ", "## Optional")
    assert all(part.startswith("## ") for part in parts[::2])
    listed = [
        re.fullmatch(r"- \[.+\]\(([\w/-]+\.html)\)(: .+)?", line) for part in parts[1::2] for line in part.split("\n")
    ]
    assert {each[1] for each in listed if each} >= {"index.html", *PAGES}
    assert None not in listed


def test_the_search_answers(browser: Browser, site: str) -> None:
    page = browser.new_page()
    page.goto(f"{site}/index.html")
    field, results = page.locator(".md-search__input"), page.locator(".md-search-result__link")
    for query, answers in ANSWERS.items():
        field.fill("")
        field.press("End")  # the search begins when a key is released
        results.first.wait_for(state="detached")
        field.fill(query)
        field.press("End")
        results.first.wait_for(state="attached")
        links = [(each.get_attribute("href") or "").removeprefix(f"{site}/") for each in results.all()]
        found = [re.sub(r"\?h=[^#]*", "", link) for link in links]
        assert not any(link.startswith("decisions/") for link in found)
        assert set(answers) & set(found[:3]), (query, found[:3])
    page.close()
