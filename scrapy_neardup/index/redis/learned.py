"""Keep the boilerplate that was learned of sources in Redis, under the hash tag of the window. All keys expire.

``…:learned:lines:<source hash>``    LIST of lines that are boilerplate, the newest last
``…:learned:printed:<source hash>``  LIST of documents that others are compared with, the newest last
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from redis.exceptions import ResponseError

from scrapy_neardup.document import MOST_PRINTED, Learned, most_lines_of
from scrapy_neardup.index.base import LEARNED_SECONDS

if TYPE_CHECKING:
    from redis.asyncio import Redis


logger = logging.getLogger(__name__)


async def share_learned(client: Redis, prefix: str, learned: Mapping[bytes, Learned]) -> dict[bytes, Learned]:
    """See ``Index.share_learned``. Raise what redis-py raises. A key that is no list counts as empty and is replaced.

    An addition of lines or documents also renews the time limit of the older ones of the source.
    """
    pipeline = client.pipeline(transaction=False)
    places: list[str] = []
    for source, each in learned.items():
        for key, entries, most in zip(
            learned_keys(prefix, source), each, (most_lines_of(source), MOST_PRINTED), strict=True
        ):
            if entries:
                pipeline.rpush(key, *entries)
                pipeline.ltrim(key, -most, -1)
            if any(each):
                pipeline.expire(key, LEARNED_SECONDS)
            pipeline.lrange(key, 0, -1)
            places += [key] * (2 * bool(entries) + any(each) + 1)
    answers = await pipeline.execute(raise_on_error=False)
    lists: dict[str, tuple[bytes, ...]] = {}
    for key, answer in zip(places, answers, strict=True):
        if isinstance(answer, ResponseError) and "WRONGTYPE" in str(answer):
            logger.warning("%s is no list of this package: it is removed", key)
            await client.unlink(key)
        elif isinstance(answer, Exception):
            raise answer
        elif isinstance(answer, list):
            lists[key] = tuple(cast("list[bytes]", answer))
    return {source: Learned(*(lists.get(key, ()) for key in learned_keys(prefix, source))) for source in learned}


def learned_keys(prefix: str, source: bytes) -> tuple[str, str]:
    return f"{prefix}:learned:lines:{source.hex()}", f"{prefix}:learned:printed:{source.hex()}"
