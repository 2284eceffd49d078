"""The pipeline people write by hand: trafilatura called in ``process_item``, datasketch's LSH in Redis.

It is put together from the documentation of Scrapy, trafilatura and datasketch. Nothing in it is slower than the code
shown there.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from datasketch import MinHash, MinHashLSH
from scrapy.exceptions import DropItem
from trafilatura import extract

NUM_PERM = 128
THRESHOLD = 0.5


class DuplicatesPipeline:
    def __init__(self, redis_url: str) -> None:
        server = urlsplit(redis_url)
        storage = {"type": "redis", "basename": b"news", "redis": {"host": server.hostname, "port": server.port}}
        self.lsh = MinHashLSH(threshold=THRESHOLD, num_perm=NUM_PERM, storage_config=storage)

    @classmethod
    def from_crawler(cls, crawler: Any) -> DuplicatesPipeline:
        return cls(crawler.settings["BASELINE_REDIS"])

    def process_item(self, item: dict[str, Any]) -> dict[str, Any]:
        text = extract(item.pop("html"), url=item["url"])
        if not text:
            return item
        words = text.lower().split()
        minhash = MinHash(num_perm=NUM_PERM)
        for start in range(len(words) - 2):
            minhash.update(" ".join(words[start : start + 3]).encode())
        if duplicates := self.lsh.query(minhash):
            raise DropItem(f"Duplicate of {duplicates[0]}")
        self.lsh.insert(item["url"], minhash, check_duplication=False)
        return item
