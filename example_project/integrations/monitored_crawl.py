"""Watch the stats of a crawl (spidermon): ``python -m integrations.monitored_crawl``.

The bundled site is crawled with a store, and with a store that is away. Exit status 0 if the monitors pass the first
crawl and report the second.
"""

from __future__ import annotations

import sys
from typing import Any

from integrations.monitors import NoteFailures
from integrations.offline import SETTINGS, BundledNews, check, count_statuses, start_crawl, unused_port
from scrapy.crawler import AsyncCrawlerProcess

SPIDERMON: dict[str, Any] = {
    "EXTENSIONS": {"spidermon.contrib.scrapy.extensions.Spidermon": 500},
    "SPIDERMON_ENABLED": True,
    "SPIDERMON_SPIDER_CLOSE_MONITORS": ["integrations.monitors.VerdictSuite"],
}


class StoreAway(BundledNews):
    """Has a store at a port where nothing listens."""

    name = "store-away"
    custom_settings = {**BundledNews.custom_settings, "NEARDUP_STORE": f"redis://127.0.0.1:{unused_port()}/0"}  # noqa: RUF012


def main() -> int:
    process = AsyncCrawlerProcess({**SETTINGS, **SPIDERMON, "LOG_LEVEL": "CRITICAL"})
    usual, lost = start_crawl(process, BundledNews), start_crawl(process, StoreAway, pages=10)
    process.start()
    is_right = check(usual)
    print(f"Without a store: {count_statuses(lost)}", "Monitors that failed:", *NoteFailures.failures, sep="\n")
    crawls = {failure.partition(":")[0] for failure in NoteFailures.failures}
    return int(not is_right or crawls != {StoreAway.name} or len(NoteFailures.failures) != 2)


if __name__ == "__main__":
    sys.exit(main())
