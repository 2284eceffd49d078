"""Train a reference text for the preset ``multiref`` (Mohammadi and Khasteh 2020).

    python benchmarks/train_reference.py corpus.jsonl -o reference.json [--sample 400] [--runs 10] [--seed 1]

The corpus is recorded documents (``docs/commands.md``). An individual is a list of 3-grams out of those with the
highest TF-IDF in the corpus. It is fitter if the cosine of two signatures is closer to the cosine of the two texts, on
average over sampled pairs. Each generation keeps its fitter half. A child has two parents from that half: the beginning
of one and the end of the other, cut at one place. In one child of ten a tenth of the list is drawn anew. The run with
the smallest error over held-out texts gives the reference.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup import NearDupSettings
from scrapy_neardup.sketch import Sketcher
from scrapy_neardup.sketch.signatures import PARTS, Reference, gram_keys, part_numbers
from scrapy_neardup.tools.lab.feed import read_background
from scrapy_neardup.tools.lab.replay import PageReader, RecordedPage

CANDIDATES = 9000
PAIRS = 5000
POPULATION = 100
GENERATIONS = 50
MUTATED_CHILDREN = 0.1
GRAMS = 1000  # of the reference text
FORMAT = 1  # of reference.json
MUTATED_GRAMS = 0.1
GRAMS = 1000  # of the reference text
MOST_FOR_MEAN = 2000  # texts the average signature is taken over

Counted = tuple[NDArray[np.uint64], NDArray[np.int64]]
"""The keys of the 3-grams of a text, ascending, and how often each occurs."""


class Sample(NamedTuple):
    """Texts and cosines by which individuals are judged."""

    counts: NDArray[np.float32]  # a row for each text, a column for each candidate
    pairs: NDArray[np.int64]  # two rows of places
    cosines: NDArray[np.float64]  # of the texts of each pair

    @classmethod
    def of(cls, texts: Sequence[Counted], keys: NDArray[np.uint64], rng: np.random.Generator) -> Sample:
        counts = np.zeros((len(texts), len(keys)), np.float32)
        for row, (found, times) in enumerate(texts):
            places = np.minimum(np.searchsorted(keys, found), len(keys) - 1)
            same = keys[places] == found
            counts[row, places[same]] = times[same]
        first = rng.integers(0, len(texts), PAIRS)
        second = (first + rng.integers(1, len(texts), PAIRS)) % len(texts)
        cosines = np.array([cosine(texts[a], texts[b]) for a, b in zip(first, second, strict=True)])
        return cls(counts, np.stack([first, second]), cosines)

    def error(self, individual: NDArray[np.int64]) -> float:
        """Return the mean absolute error of the cosines of signatures."""
        part = part_numbers(GRAMS)
        sums = np.add.reduceat(self.counts[:, individual], np.searchsorted(part, np.arange(PARTS)), axis=1)
        vectors = sums / np.sqrt(np.bincount(part)).astype(np.float32)
        lengths = np.sqrt((vectors * vectors).sum(axis=1))
        vectors /= np.where(lengths > 0, lengths, 1)[:, None]
        estimated = np.einsum("ij,ij->i", *vectors[self.pairs])
        return float(np.abs(estimated - self.cosines).mean())


def highest_tf_idf(texts: Sequence[Counted]) -> NDArray[np.uint64]:
    """Return the keys of the 3-grams with the highest TF-IDF, ascending."""
    every, times = (np.concatenate(each) for each in zip(*texts, strict=True))
    keys, inverse, documents = np.unique(every, return_inverse=True, return_counts=True)
    weights = np.bincount(inverse.ravel(), weights=times) * np.log((1 + len(texts)) / documents)
    return np.sort(keys[np.argsort(-weights, kind="stable")[:CANDIDATES]])


def cosine(a: Counted, b: Counted) -> float:
    _, in_a, in_b = np.intersect1d(a[0], b[0], assume_unique=True, return_indices=True)
    squares = float((a[1] ** 2).sum()) * float((b[1] ** 2).sum())
    return float((a[1][in_a] * b[1][in_b]).sum()) / squares**0.5 if squares else 0.0


def train(sample: Sample, candidates: int, seed: int) -> tuple[NDArray[np.int64], float]:
    """Return the fittest individual of one run, and its error."""
    rng = np.random.default_rng([seed, 1])
    population = np.stack([rng.permutation(candidates)[:GRAMS] for _ in range(POPULATION)])
    errors = np.array([sample.error(each) for each in population])
    kept = (POPULATION + 1) // 2
    for generation in range(GENERATIONS + 1):
        order = np.argsort(errors, kind="stable")
        population, errors = population[order], errors[order]
        if generation < GENERATIONS:
            children = np.stack([child_of(population[:kept], candidates, rng) for _ in range(POPULATION - kept)])
            population = np.concatenate([population[:kept], children])
            errors = np.concatenate([errors[:kept], [sample.error(child) for child in children]])
    return population[0], float(errors[0])


def child_of(parents: NDArray[np.int64], candidates: int, rng: np.random.Generator) -> NDArray[np.int64]:
    one, other = parents[rng.integers(0, len(parents), 2)]
    cut = int(rng.integers(1, GRAMS))
    child = np.concatenate([one[:cut], other[cut:]])
    # A 3-gram that came from both parents is in the list only once.
    renewed = np.ones(GRAMS, np.bool_)
    renewed[np.unique(child, return_index=True)[1]] = False
    if rng.random() < MUTATED_CHILDREN:
        renewed |= rng.random(GRAMS) < MUTATED_GRAMS
    unused = np.setdiff1d(np.arange(candidates), child[~renewed])
    child[renewed] = rng.choice(unused, int(renewed.sum()), replace=False)
    return child


def read_texts(corpus: Path) -> list[str]:
    """Return the words of each document that is long enough to be compared."""
    settings = NearDupSettings(preset="multiref")
    sketcher = Sketcher(settings.resolved_preset(), min_words=settings.min_words)
    with PageReader(settings, workers=1) as reader:
        pages = [page for page in reader.read(read_background([corpus])) if isinstance(page, RecordedPage)]
    bodies = (sketcher.read_texts([page.text])[0] for page in pages if page.text.strip())
    return [" ".join(body.tokens) for body in bodies if body.words >= settings.min_words]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("-o", "--output", type=Path, default=Path("reference.json"))
    parser.add_argument("--sample", type=int, default=400, help="texts to compare, and as many that are held out")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1, help="of the first run")
    options = parser.parse_args()
    texts = read_texts(options.corpus)
    if len(texts) < 2 * options.sample:
        parser.error(f"{options.corpus}: {len(texts)} documents with text, fewer than twice the sample")
    rng = np.random.default_rng(options.seed)
    counted = [np.unique(gram_keys(text), return_counts=True) for text in texts]
    keys = highest_tf_idf(counted)
    drawn = [counted[place] for place in rng.permutation(len(texts))]
    sample = Sample.of(drawn[: options.sample], keys, rng)
    held_out = Sample.of(drawn[options.sample : 2 * options.sample], keys, rng)
    runs = []
    for seed in range(options.seed, options.seed + options.runs):
        individual, error = train(sample, len(keys), seed)
        runs.append((held_out.error(individual), error, individual))
        print(f"seed {seed}: mean absolute error {error:.4f}, held out {runs[-1][0]:.4f}")
    _, error, best = min(runs, key=lambda run: run[0])
    grams = ["".join(chr(int(keys[place]) >> shift & 0x1F_FFFF) for shift in (42, 21, 0)) for place in best]
    unknown = Reference.of(grams, bytes(PARTS))
    signed = [np.frombuffer(each, np.uint8) for text in texts[:MOST_FOR_MEAN] if (each := unknown.sign(text))]
    mean = np.rint(np.mean(signed, axis=0)).astype(int).tolist()
    content = {"format": 1, "mean_absolute_error": round(error, 6), "mean": mean, "grams": grams}
    options.output.write_text(json.dumps(content, ensure_ascii=False, indent=0) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
