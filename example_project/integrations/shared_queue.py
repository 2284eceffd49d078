"""Two workers with one queue and one window (scrapy-redis): ``python -m integrations.shared_queue redis://…``.

The database has to be empty, and is emptied at the end. Exit status 0 if every page was crawled once, and of the papers
that printed one text word for word at most one is an original.
"""

from __future__ import annotations

import json
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

from check_truth import Row
from integrations.offline import SETTINGS, count_statuses, repeated_originals, start_crawl
from newsroom.site.press import read_pages
from newsroom.spiders.newswire import NewswireSpider
from redis import Redis
from scrapy.crawler import AsyncCrawlerProcess
from scrapy_redis.spiders import RedisSpider

WORKERS = 2
QUEUE = "news:start_urls"


REDIS = "redis://127.0.0.1:6379/0"
SHARED: dict[str, Any] = {
    "REDIS_URL": REDIS,
    "SCHEDULER": "scrapy_redis.scheduler.Scheduler",
    "DUPEFILTER_CLASS": "scrapy_redis.dupefilter.RFPDupeFilter",
    "SCHEDULER_PERSIST": True,  # else a worker that ends empties the queue of the others
    "NEARDUP_STORE": REDIS,
}


class QueuedNews(RedisSpider):
    """Takes urls from the queue. Any number of workers may run it."""

    name = "news"
    redis_batch_size = 4
    max_idle_time = 1  # seconds without a url after which a worker ends; by default it waits for ever
    custom_settings = {"DOWNLOADER_MIDDLEWARES": {"newsroom.loopback.BundledSiteMiddleware": 740}}  # noqa: RUF012
    parse = NewswireSpider.parse_article


def work(redis: str) -> list[Row]:
    process = AsyncCrawlerProcess({**SETTINGS, **SHARED, "REDIS_URL": redis, "NEARDUP_STORE": redis})
    items = start_crawl(process, QueuedNews)
    process.start()
    return items


def fill(queue: Redis) -> list[str]:
    urls = list({page.url: None for page in read_pages()})
    queue.rpush(QUEUE, *(json.dumps({"url": url}) for url in urls))
    return urls


def main(redis: str = REDIS) -> int:
    with Redis.from_url(redis) as server:
        if server.dbsize():
            print(f"{redis} is not empty: name a database that is")
            return 2
        urls = fill(server)
        try:
            with ProcessPoolExecutor(WORKERS, get_context("spawn")) as pool:
                shares = list(pool.map(work, [redis] * WORKERS))
        finally:
            server.flushdb()
    items = [item for share in shares for item in share]
    print(f"{' + '.join(str(len(share)) for share in shares)} items: {count_statuses(items)}")
    twice = repeated_originals(items)
    print(f"{len(twice)} texts have two originals", *twice)
    return int(bool(twice) or sorted(urls) != sorted(str(item["url"]) for item in items))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
