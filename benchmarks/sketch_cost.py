"""Compare the CPU time of a sketch with that of the same sketch whose minima come from a few lines of numpy.

usage: python benchmarks/sketch_cost.py FILE [--documents 600] [--rounds 15]

FILE has recorded documents, one JSON object on each line. The two take turns, and the median of the ratios counts.
docs/decisions/sketch.md has the figures.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Sequence
from itertools import accumulate, islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.sketch import PRESETS, signatures
from scrapy_neardup.sketch.text_sketch import TextSketcher

AT_ONCE = 1 << 16  # products of shingles and lanes


def minima(sets: Sequence[NDArray[np.uint32]], num_perm: int, seed: int) -> NDArray[np.uint32]:
    """Return the same as ``signatures.minima``: all sets of a batch in one array."""
    hashes = np.concatenate(sets)
    for shift, factor in ((16, 0x85EB_CA6B), (13, 0xC2B2_AE35), (16, 1)):
        hashes ^= hashes >> np.uint32(shift)
        hashes *= np.uint32(factor)
    starts = [*accumulate(map(len, sets[:-1]), initial=0)]
    a, b = signatures._empty_minhash(num_perm, seed).permutations
    lanes = max(1, AT_ONCE // len(hashes))
    lowest = np.empty((len(sets), num_perm), np.uint32)
    for first in range(0, num_perm, lanes):
        values = a[first : first + lanes, None] * hashes
        values += b[first : first + lanes, None]
        lowest[:, first : first + lanes] = np.minimum.reduceat(values, starts, axis=1).T
    return lowest


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--documents", type=int, default=600)
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    with options.file.open(encoding="utf-8") as lines:
        texts = [json.loads(line)["text"] for line in islice(lines, options.documents)]
    sketcher, ways = TextSketcher(PRESETS["news"]), (signatures.minima, minima)
    for together in (1, 8):
        batches = [texts[at : at + together] for at in range(0, len(texts), together)]
        rounds = []
        for _ in range(options.rounds + 1):
            taken, made = [], []
            for way in ways:
                signatures.minima = way
                start = time.process_time()
                made.append([sketcher.whole(*batch) for batch in batches])
                taken.append(time.process_time() - start)
            assert made[0] == made[1]
            rounds.append(taken)
        del rounds[0]  # words and characters are new then
        ours = statistics.median(1000 * one / len(texts) for one, _ in rounds)
        ratio = statistics.median(one / other for one, other in rounds)
        print(f"{together} together: {ours:.2f} ms a sketch, {ratio:.3f} times that with minima by numpy alone")


if __name__ == "__main__":
    main()
