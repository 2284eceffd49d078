"""The genetic algorithm that finds a reference text (Mohammadi and Khasteh 2020).

An individual is a list of 3-grams out of those of the highest TF-IDF in a corpus. It is the fitter the less the cosine
of two signatures differs from the cosine of the two texts, on average over sampled pairs. Each generation keeps its
fitter half; of two parents of it a child has the beginning of one and the end of the other, cut at one place, and in
one child of ten a tenth of the list is drawn anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from scrapy_neardup.sketch.reference import FORMAT, GRAMS, PARTS, Reference, gram_keys, part_numbers

if TYPE_CHECKING:
    from numpy.typing import NDArray

CANDIDATES = 9000
MUTATED_CHILDREN = 0.1
MUTATED_GRAMS = 0.1
_MOST_FOR_MEAN = 2000  # texts the average signature is taken over


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """What individuals are judged by.

    ``grams`` are the candidates; ``counts`` has a row for each sampled text and a column for each candidate; ``pairs``
    are two rows of texts each, ``cosines`` those of their texts.
    """

    grams: list[str]
    counts: NDArray[np.float32]
    pairs: NDArray[np.int64]
    cosines: NDArray[np.float64]

    @classmethod
    def of(cls, texts: Sequence[str], *, sample: int, pairs: int, seed: int) -> Task:
        """Raises ValueError where the corpus has fewer texts than the sample, or too few different 3-grams."""
        if len(texts) < sample:
            raise ValueError(f"{len(texts)} documents with text, fewer than the sample of {sample}")
        rng = np.random.default_rng(seed)
        counted = [np.unique(gram_keys(text), return_counts=True) for text in texts]
        keys = _highest_tf_idf(counted)
        if len(keys) < GRAMS:
            raise ValueError(f"{len(keys)} different 3-grams, fewer than the {GRAMS} of a reference")
        rows = [counted[number] for number in rng.choice(len(texts), sample, replace=False)]
        counts = np.zeros((sample, len(keys)), np.float32)
        for row, (found, times) in enumerate(rows):
            places = np.searchsorted(keys, found)
            places[places == len(keys)] = 0
            same = keys[places] == found
            counts[row, places[same]] = times[same]
        first = rng.integers(0, sample, pairs)
        second = (first + rng.integers(1, sample, pairs)) % sample
        cosines = np.array([_cosine(rows[a], rows[b]) for a, b in zip(first, second, strict=True)])
        return cls([_gram(key) for key in keys.tolist()], counts, np.stack([first, second]), cosines)

    def error(self, individual: NDArray[np.int64]) -> float:
        """Mean absolute error of the cosines of signatures."""
        part = part_numbers(GRAMS)
        starts = np.searchsorted(part, np.arange(PARTS))
        sums = np.add.reduceat(self.counts[:, individual], starts, axis=1)
        vectors = sums / np.sqrt(np.bincount(part)).astype(np.float32)
        lengths = np.sqrt((vectors * vectors).sum(axis=1))
        vectors /= np.where(lengths > 0, lengths, 1)[:, None]
        first, second = self.pairs
        estimated = np.einsum("ij,ij->i", vectors[first], vectors[second])
        return float(np.abs(estimated - self.cosines).mean())


_Counted = tuple["NDArray[np.uint64]", "NDArray[np.int64]"]


def _highest_tf_idf(counted: Sequence[_Counted]) -> NDArray[np.uint64]:
    """Keys, ascending."""
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
    """Where a training stands; enough to go on with it."""

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
    """The state after each generation, the same object each time."""
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
    # What came from both parents is in the list once.
    seen = np.zeros(GRAMS, np.bool_)
    seen[np.unique(child, return_index=True)[1]] = True
    renewed |= ~seen
    unused = np.setdiff1d(np.arange(len(task.grams)), child[~renewed])
    child[renewed] = state.rng.choice(unused, int(renewed.sum()), replace=False)
    return child


def reference_file(task: Task, state: State, texts: Sequence[str]) -> dict[str, object]:
    """What a reference file says, of the fittest individual."""
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
