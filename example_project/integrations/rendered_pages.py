"""Judge pages that are empty without JavaScript (scrapy-playwright): ``python -m integrations.rendered_pages``.

A part of the bundled site is served in such a form. It is crawled as it comes, and rendered by Chromium. Exit status 0
if no plain page has a text, and every verdict on a rendered page is the one in the truth file. Chromium is the one of
the machine, or else the one that ``playwright install chromium`` downloaded.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from typing import Any

from integrations.offline import SETTINGS, BundledNews, check, count_statuses, start_crawl
from newsroom.items import page_title
from newsroom.site.press import Newsstand
from newsroom.site.proxy import LoopbackProxy
from scrapy import Request
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.http import Response, TextResponse

PAGES = 6  # a page takes about half a second
HANDLER = "scrapy_playwright.handler.ScrapyPlaywrightDownloadHandler"
PLAYWRIGHT: dict[str, Any] = {
    "DOWNLOAD_HANDLERS": {"http": HANDLER, "https": HANDLER},
    "PLAYWRIGHT_LAUNCH_OPTIONS": {
        "executable_path": shutil.which("chromium") or shutil.which("google-chrome"),
        "args": ["--no-sandbox", "--disable-dev-shm-usage"],  # in a container, or as root
    },
}


class ScriptedSite(LoopbackProxy):
    """The bundled site with articles that a script writes."""

    def answer(self, url: str) -> tuple[str, bytes] | None:
        found = super().answer(url)
        if found is None or url not in self.stand.by_url:
            return found
        article = TextResponse(url, body=found[1], headers={"Content-Type": found[0]}).text
        written = json.dumps(article).replace("</", "<\\/")
        return "text/html; charset=utf-8", f"<!doctype html><script>document.write({written})</script>".encode()


class ScriptedNews(BundledNews):
    """Requests articles with ``meta``."""

    custom_settings = {"NEARDUP_STORE": "memory://"}  # noqa: RUF012

    def __init__(self, meta: dict[str, Any]) -> None:
        super().__init__(pages=PAGES)
        self.meta = meta

    def article_request(self, url: str) -> Request:
        return super().article_request(url).replace(meta=dict(self.meta))

    def parse_article(self, response: Response) -> Iterator[Any]:
        yield {"url": response.url, "title": page_title(response)}


def main() -> int:
    site = ScriptedSite(Newsstand.load())
    site.start()
    PLAYWRIGHT["PLAYWRIGHT_LAUNCH_OPTIONS"]["proxy"] = {"server": site.url}
    process = AsyncCrawlerProcess({**SETTINGS, **PLAYWRIGHT})
    plain = start_crawl(process, ScriptedNews, meta={"proxy": site.url})
    rendered = start_crawl(process, ScriptedNews, meta={"playwright": True})
    process.start()
    site.stop()
    without_text = sum(item["neardup_reason"] == "no-text" for item in plain)
    print(f"Without JavaScript: {count_statuses(plain)}\nRendered:", end=" ")
    return int(not check(rendered, PAGES) or without_text < PAGES)


if __name__ == "__main__":
    sys.exit(main())
