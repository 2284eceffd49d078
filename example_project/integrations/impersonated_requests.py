"""Judge pages fetched like a browser (scrapy-impersonate): ``python -m integrations.impersonated_requests``.

Exit status 0 if curl_cffi fetched every page, and every verdict is the one in the truth file.
"""

from __future__ import annotations

import sys
from collections import Counter
from typing import Any

from integrations.offline import SETTINGS, BundledNews, check, start_crawl
from scrapy import Request, signals
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.http import Response

HANDLER = "scrapy_impersonate.ImpersonateDownloadHandler"
IMPERSONATE: dict[str, Any] = {
    "DOWNLOAD_HANDLERS": {"http": HANDLER, "https": HANDLER},
    "USER_AGENT": None,  # the one of the browser
}


class ImpersonatedNews(BundledNews):
    def article_request(self, url: str) -> Request:
        return super().article_request(url).replace(meta={"impersonate": "chrome"})


def main() -> int:
    flags: Counter[str] = Counter()

    def count_flags(response: Response) -> None:
        flags.update(response.flags)

    process = AsyncCrawlerProcess({**SETTINGS, **IMPERSONATE})
    items = start_crawl(process, ImpersonatedNews)
    (crawler,) = process.crawlers
    crawler.signals.connect(count_flags, signals.response_received)
    process.start()
    print(dict(flags))
    return int(not check(items) or flags["impersonate"] != len(items))


if __name__ == "__main__":
    sys.exit(main())
