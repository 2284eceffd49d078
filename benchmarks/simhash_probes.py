"""What a probe of a SimHash index costs: Table 1 of Hu and You (2017), repeated at a million fingerprints.

    python benchmarks/simhash_probes.py [--count N]

For every plan it prints the number of tables, the expected and the counted number of fingerprints that a probe reads,
and the time. The expected number is the paper's formula for random fingerprints: tables x fingerprints / 2^bits of a
key. Plans 1, 2 and 3 are those of the paper: 8 blocks of 8 bits, 4 of 16 and 5 of 13 (the last has 12), one of which
must be in common. Our own has 5 blocks of 13, two of which must be. For comparison a probe is also compared with every
fingerprint. Each plan must find the fingerprint that differs from a probe in 3 bits, which is checked. Time is
processor time of sorted arrays in memory, one probe after the other.
"""

from __future__ import annotations

import argparse
import time
from itertools import combinations

import numpy as np
from rich.console import Console
from rich.table import Table

from scrapy_neardup.sketch.signatures.presets import PLANS
from scrapy_neardup.sketch.signatures.simhash import BITS

PROBES = 2000
FEW_PROBES = 50
NAMES = {8: "1: one of 8 blocks of 8", 4: "2: one of 4 blocks of 16", 5: "3: one of 5 blocks of 13"}
OURS = "ours: two of 5 blocks of 13"


class Plan:
    """Sorted tables of the chosen bits."""

    def __init__(self, fingerprints: np.ndarray, width: int, chosen: int) -> None:
        self.fingerprints = fingerprints
        starts = range(0, BITS, width)
        blocks = [((1 << min(width, BITS - start)) - 1) << start for start in starts]
        self.masks = [np.uint64(sum(each)) for each in combinations(blocks, chosen)]
        self.orders = [np.argsort(fingerprints & mask, kind="stable") for mask in self.masks]
        self.tables = [fingerprints[order] & mask for mask, order in zip(self.masks, self.orders, strict=True)]

    def probe(self, fingerprint: np.uint64) -> tuple[int, set[int]]:
        """How many were read, and those at a distance of up to 3."""
        read, found = 0, set()
        for mask, order, table in zip(self.masks, self.orders, self.tables, strict=True):
            key = fingerprint & mask
            first, end = np.searchsorted(table, key, "left"), np.searchsorted(table, key, "right")
            candidates = order[first:end]
            read += len(candidates)
            found.update(candidates[distances(self.fingerprints[candidates], fingerprint) <= 3].tolist())
        return read, found


def distances(fingerprints: np.ndarray, fingerprint: np.uint64) -> np.ndarray:
    differing = np.ascontiguousarray(fingerprints ^ fingerprint).view(np.uint8).reshape(-1, 8)
    return _ONES[differing].sum(axis=1)


_ONES = np.array([number.bit_count() for number in range(256)], np.uint8)


def expected(plan: Plan, count: int) -> float:
    return sum(count / 2 ** int(mask).bit_count() for mask in plan.masks)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", metavar="N", type=int, default=1_000_000, help="fingerprints (default: a million)")
    count = parser.parse_args().count
    rng = np.random.default_rng(1)
    fingerprints = rng.integers(0, 1 << 64, count, dtype=np.uint64)
    # Each probe is a fingerprint of the index with three bits changed.
    asked = rng.integers(0, count, PROBES)
    probes = fingerprints[asked].copy()
    for number in range(PROBES):
        for bit in rng.choice(BITS, 3, replace=False):
            probes[number] ^= np.uint64(1) << np.uint64(bit)

    table = Table(title=f"{count:,} fingerprints of {BITS} bits, {PROBES:,} probes at a distance of 3")
    for name in ("plan", "tables", "read, reckoned", "read, counted", "us a probe", "found"):
        table.add_column(name, justify="right" if name != "plan" else "left")
    start = time.process_time()
    few = probes[:20]
    right = sum(int(distances(fingerprints, probe)[at] <= 3) for probe, at in zip(few, asked[:20], strict=True))
    spent = (time.process_time() - start) / len(few)
    table.add_row("compare with all", "1", f"{count:,}", f"{count:,}", f"{1e6 * spent:,.0f}", f"{right / len(few):.0%}")
    for keys, (width, in_common) in PLANS.items():
        plan = Plan(fingerprints, width, in_common)
        tried = probes if keys != 8 else probes[:FEW_PROBES]  # each reads a thirtieth of all fingerprints
        start = time.process_time()
        answers = [plan.probe(probe) for probe in tried]
        spent = (time.process_time() - start) / len(tried)
        right = sum(int(at) in found for (_, found), at in zip(answers, asked, strict=False)) / len(tried)
        read = sum(each for each, _ in answers) / len(tried)
        reckoned = f"{expected(plan, count):,.2f}"
        name = NAMES.get(keys, OURS)
        table.add_row(name, str(len(plan.masks)), reckoned, f"{read:,.2f}", f"{1e6 * spent:,.0f}", f"{right:.0%}")
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
