"""The stats of a crawl, by their names without ``neardup/``. The page docs/settings.md shows this table on the site."""

from __future__ import annotations

STATS = {
    "checked": "judged items; several items of one page count one by one, here and below",
    "<status>": "verdicts; also as ``<status>/<kind>`` and ``<status>/<reason>``, such as ``duplicate/near``",
    "dropped": "duplicates dropped",
    "would_drop": "items that ``drop`` would have dropped, in a crawl that only tags and in a dry run",
    "dropped_feed/errors": "items kept because they could not be written to ``NEARDUP_DROPPED_FEED``",
    "record/errors": "documents that could not be written to ``NEARDUP_RECORD``",
    "events/<level>": "events that this crawl raised: ``watch``, ``breaking``, ``update``, ``ended``",
    "stories_united": "stories that became a part of another one",
    "run/kept": "judged items that were not dropped",
    "run/stories": "stories with at least two items of this crawl; pages that came again do not count",
    "run/largest_story": "items of this crawl in its largest story",
    "hints/<name>": "items that a hint at the end of the crawl is about",
    "extract/ms_<figure>": "``count``, ``total``, ``p50``, ``p99`` and ``max`` of the milliseconds to extract a page,"
    " without its wait for a worker",
    "sketch/ms_<figure>": "the same for the sketch of a text",
    "check/ms_<figure>": "the same for a check by the store, from request to answer",
    "embed/ms_<figure>": "the same for a text that ``NEARDUP_EMBEDDER`` embeds",
    "embed/failures": "documents that were judged without a vector because ``NEARDUP_EMBEDDER`` failed",
    "errors": "errors of scrapy-neardup itself, which lose no item: please report the trace in the log",
    "store/errors": "items for which the store gave no answer",
    "time_errors": "items whose time cannot be read",
}
