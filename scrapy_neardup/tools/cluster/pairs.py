"""Find who shares look-up keys, the second step of a replay on a cluster.

Each document is paired with the newest ones of a key that came before it in the window.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa

from scrapy_neardup.index.postings import MOST_POSTINGS
from scrapy_neardup.tools.cluster.exchange import POSTINGS, Job, between, in_order, writing
from scrapy_neardup.tools.cluster.sketches import Stats

_TOGETHER = 1 << 18  # postings


def find_pairs(job: Job, tasks: int, number: int, first: int, last: int) -> Stats:
    """Find the pairs whose later posting is in a range of places, which are look-up key and second.

    Also count the documents whose id another one has, of the ids whose hash is in the range.
    """
    files = job.files("postings", tasks)
    window = job.settings.window
    crowded = 0
    with writing(job.file("pairs", number), POSTINGS) as add_pairs:
        for start, end in _spans(files, first, last):
            rows = pa.Table.from_batches(between(files, max(0, start - window), end), POSTINGS)
            rows = rows.sort_by([("place", "ascending"), ("key", "ascending")])
            place, key, address, weight = (each.to_numpy() for each in rows.columns)
            second = (place & np.uint64(0xFFFF_FFFF)).astype(np.int64)
            of_key = place >> np.uint64(32)
            for lag in range(1, MOST_POSTINGS + 2):
                is_pair = (of_key[lag:] == of_key[:-lag]) & (second[lag:] - second[:-lag] <= window)
                is_pair &= place[lag:] >= start
                if lag <= MOST_POSTINGS:
                    add_pairs(each[is_pair] for each in (address[lag:], key[:-lag], address[:-lag], weight[lag:]))
            crowded += int(is_pair.sum())
    ids = in_order(job.files("ids", len(job.inputs)), first, last)
    repeated = [given for (_, given), (_, next_one) in pairwise(ids) if given == next_one]
    told = [f"{given!r}: two documents have this id" for given in repeated[:1]]
    return {"counts": Counter(crowded=crowded, repeated=len(repeated)), "errors": told}


def _spans(files: Sequence[Path], first: int, last: int) -> Iterator[tuple[int, int]]:
    """Halve a range of places until its rows fit into memory, or are of one second."""
    if last - first == 1 or sum(run.num_rows for run in between(files, first, last)) <= _TOGETHER:
        yield first, last
    else:
        middle = (first + last) // 2
        yield from _spans(files, first, middle)
        yield from _spans(files, middle, last)
