"""The genetic algorithm that finds a reference text (Mohammadi and Khasteh 2020).

An individual is a list of 3-grams out of those of the highest TF-IDF in a corpus. It is fitter if the cosine of two
signatures is closer to the cosine of the two texts, on average over sampled pairs. Each generation keeps its fitter
half. A child has two parents from that half: the beginning of one and the end of the other, cut at one place. In one
child of ten a tenth of the list is drawn anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.sketch.signatures.reference import FORMAT, GRAMS, PARTS, Reference, gram_keys, part_numbers

CANDIDATES = 9000
MUTATED_CHILDREN = 0.1
MUTATED_GRAMS = 0.1
_MOST_FOR_MEAN = 2000  # texts the average signature is taken over


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """The texts and cosines by which individuals are judged.

    ``grams`` are the candidates. ``counts`` has a row for each sampled text and a column for each candidate. Each of
    the ``pairs`` names two rows, and ``cosines`` has the cosine of their texts.
    """

    grams: list[str]
    counts: NDArray[np.float32]
    pairs: NDArray[np.int64]
    cosines: NDArray[np.float64]
    # Counts, pairs and cosines of other texts.
    held_out: tuple[NDArray[np.float32], NDArray[np.int64], NDArray[np.float64]]

    @classmethod
    def of(cls, texts: Sequence[str], *, sample: int, pairs: int, seed: int) -> Task:
        """Raise ValueError if the corpus has fewer texts than the sample, or too few different 3-grams."""
        if len(texts) < sample:
            raise ValueError(f"{len(texts)} documents with text, fewer than the sample of {sample}")
        rng = np.random.default_rng(seed)
        counted = [np.unique(gram_keys(text), return_counts=True) for text in texts]
        keys = _highest_tf_idf(counted)
        if len(keys) < GRAMS:
            raise ValueError(f"{len(keys)} different 3-grams, fewer than the {GRAMS} of a reference")
        drawn = rng.permutation(len(texts))
        chosen, others = drawn[:sample], drawn[sample : 2 * sample]
        sampled = _sampled([counted[number] for number in chosen], keys, pairs, rng)
        held_out = _sampled([counted[number] for number in others], keys, pairs, rng) if len(others) > 1 else sampled
        return cls([_gram(key) for key in keys.tolist()], *sampled, held_out)

    def error(self, individual: NDArray[np.int64]) -> float:
        """Return the mean absolute error of the cosines of signatures."""
        return self._error(self.counts, self.pairs, self.cosines, individual)

    def held_out_error(self, individual: NDArray[np.int64]) -> float:
        """Return the error over held-out texts, or ``error`` if the corpus is too small to hold texts out.

        No generation was chosen by held-out texts. The run with the least held-out error gives the reference, as in
        the paper.
        """
        return self._error(*self.held_out, individual)

    def _error(
        self,
        counts: NDArray[np.float32],
        pairs: NDArray[np.int64],
        cosines: NDArray[np.float64],
        individual: NDArray[np.int64],
    ) -> float:
        part = part_numbers(GRAMS)
        starts = np.searchsorted(part, np.arange(PARTS))
        sums = np.add.reduceat(counts[:, individual], starts, axis=1)
        vectors = sums / np.sqrt(np.bincount(part)).astype(np.float32)
        lengths = np.sqrt((vectors * vectors).sum(axis=1))
        vectors /= np.where(lengths > 0, lengths, 1)[:, None]
        first, second = pairs
        estimated = np.einsum("ij,ij->i", vectors[first], vectors[second])
        return float(np.abs(estimated - cosines).mean())


_Counted = tuple["NDArray[np.uint64]", "NDArray[np.int64]"]


def _sampled(
    rows: Sequence[_Counted], keys: NDArray[np.uint64], pairs: int, rng: np.random.Generator
) -> tuple[NDArray[np.float32], NDArray[np.int64], NDArray[np.float64]]:
    """Return counts of the candidates in each row's text, random pairs of rows, and the cosines of their texts."""
    counts = np.zeros((len(rows), len(keys)), np.float32)
    for row, (found, times) in enumerate(rows):
        places = np.searchsorted(keys, found)
        places[places == len(keys)] = 0
        same = keys[places] == found
        counts[row, places[same]] = times[same]
    first = rng.integers(0, len(rows), pairs)
    second = (first + rng.integers(1, len(rows), pairs)) % len(rows)
    cosines = np.array([_cosine(rows[a], rows[b]) for a, b in zip(first, second, strict=True)])
    return counts, np.stack([first, second]), cosines


def _highest_tf_idf(counted: Sequence[_Counted]) -> NDArray[np.uint64]:
    """Return the keys of the 3-grams with the highest TF-IDF, ascending."""
    every = np.concatenate([keys for keys, _ in counted])
    times = np.concatenate([times for _, times in counted])
    keys, inverse, documents = np.unique(every, return_inverse=True, return_counts=True)
    total = np.bincount(inverse.ravel(), weights=times)
    weights = total * np.log((1 + len(counted)) / documents)
    return np.sort(keys[np.argsort(-weights, kind="stable")[:CANDIDATES]])


def _cosine(a: _Counted, b: _Counted) -> float:
    _, in_a, in_b = np.intersect1d(a[0], b[0], assume_unique=True, return_indices=True)
    product = float((a[1][in_a] * b[1][in_b]).sum())
    squares = float((a[1] ** 2).sum()) * float((b[1] ** 2).sum())
    return product / squares**0.5 if squares else 0.0


def _gram(key: int) -> str:
    return "".join(chr(key >> shift & 0x1F_FFFF) for shift in (42, 21, 0))


@dataclass(slots=True)
class State:
    """The lists of one generation, and how the errors fell up to it."""

    generation: int
    population: NDArray[np.int64]  # one row an individual, fittest first
    errors: NDArray[np.float64]
    history: list[float]  # least error of each generation
    rng: np.random.Generator


def begin(task: Task, *, population: int, seed: int) -> State:
    rng = np.random.default_rng([seed, 1])
    drawn = np.stack([rng.permutation(len(task.grams))[:GRAMS] for _ in range(population)])
    errors = np.array([task.error(each) for each in drawn])
    order = np.argsort(errors, kind="stable")
    return State(0, drawn[order], errors[order], [float(errors.min())], rng)


def generations(task: Task, state: State, until: int) -> Iterator[State]:
    """Yield the state after each generation. It is the same object each time."""
    while state.generation < until:
        kept = (len(state.population) + 1) // 2
        children = np.stack([_child(task, state, kept) for _ in range(len(state.population) - kept)])
        population = np.concatenate([state.population[:kept], children])
        errors = np.concatenate([state.errors[:kept], [task.error(child) for child in children]])
        order = np.argsort(errors, kind="stable")
        state.population, state.errors = population[order], errors[order]
        state.history.append(float(errors.min()))
        state.generation += 1
        yield state


def _child(task: Task, state: State, parents: int) -> NDArray[np.int64]:
    one, other = state.population[state.rng.integers(0, parents, 2)]
    cut = int(state.rng.integers(1, GRAMS))
    child = np.concatenate([one[:cut], other[cut:]])
    renewed = np.zeros(GRAMS, np.bool_)
    if state.rng.random() < MUTATED_CHILDREN:
        renewed = state.rng.random(GRAMS) < MUTATED_GRAMS
    # A 3-gram that came from both parents is in the list only once.
    seen = np.zeros(GRAMS, np.bool_)
    seen[np.unique(child, return_index=True)[1]] = True
    renewed |= ~seen
    unused = np.setdiff1d(np.arange(len(task.grams)), child[~renewed])
    child[renewed] = state.rng.choice(unused, int(renewed.sum()), replace=False)
    return child


def reference_file(task: Task, state: State, texts: Sequence[str]) -> dict[str, object]:
    """Return the content of a reference file for the fittest individual."""
    grams = [task.grams[number] for number in state.population[0]]
    unknown = Reference.of(grams, [0] * PARTS)
    signed = [
        np.frombuffer(signature, np.uint8) for text in texts[:_MOST_FOR_MEAN] if (signature := unknown.sign(text))
    ]
    mean = np.rint(np.mean(signed, axis=0)).astype(int).tolist()
    return {
        "format": FORMAT,
        "mean_absolute_error": round(float(state.errors[0]), 6),
        "generations": state.generation,
        "mean": mean,
        "grams": grams,
    }
