"""The boilerplate guard: leave lines out of the fingerprint if they turn up in documents of several different stories.

The index cannot decide whether two documents tell different stories, because it may have joined them only by a long
disclaimer. So the guard compares the rest of the two documents, without the lines they share. For each line the guard
remembers a few documents that had it. A new document with the same line is one more story if it shares nothing else
with any of these documents. A paragraph of a wire story comes with the other paragraphs of that story, however many
papers print it. So it is not boilerplate.

The guard learns from documents as they come, in bounded memory. All processes that see the same documents learn the
same.
"""

from __future__ import annotations

from array import array
from collections import Counter, OrderedDict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import islice

import numpy as np

from scrapy_neardup.text.body import Body
from scrapy_neardup.text.reading import mask

STORIES = 3
"""Different stories that make a line boilerplate."""

# The lines seen last are remembered. They take about 20 MB if each document brings twenty new lines.
MOST_LINES = 1 << 16
MOST_DOCUMENTS = 1 << 13  # documents remembered for these lines; they take another 20 MB if each brings one new line
# Lines learned from one document; the other lines of a book would teach nothing and push out the lines of other
# documents.
_MOST_LINES_OF_ONE = 200
_LONGEST = 2000  # a document with more lines teaches nothing: a book would be remembered for few of its lines
_MOST_STORIES = 8  # documents remembered for a line, one a story
_SAMPLES = 96  # shingles a document is remembered by
_SAMPLE_MASK = mask(3)  # of every fourth shingle, by its hash
_LEAST_REST = 30  # words; a shorter rest does not show what a document is about
_SHARED_REST = 0.15  # two documents whose rests share no more than this tell different stories
_DOMINANT = 0.5  # if one story brought more than this share of a line's documents, the line belongs to that story


@dataclass(frozen=True, slots=True)
class LineSample:
    """The data that is kept of a document: its lines, and a sample of its shingles with the line of each."""

    lines: dict[int, int]  # key of the line -> its words
    samples: array[int]
    owners: array[int]  # key of the line of each sample

    @classmethod
    def of(cls, body: Body, width: int) -> LineSample:
        """``body`` is a whole text, and ``width`` the length of a shingle in tokens."""
        # Lines of the same tokens have the same words.
        lines = dict(zip(body.kept.keys.tolist(), body.kept.words.tolist(), strict=True))
        hashes = body.windows(width)
        # The choice of a shingle does not depend on the document. A shingle of two lines belongs to the first one.
        starts = np.logical_not(hashes & _SAMPLE_MASK).nonzero()[0]
        samples = hashes.take(starts)
        lowest = samples.argsort()[:_SAMPLES]
        ends = np.add.accumulate(body.kept.end - body.kept.first)
        owners = body.kept.keys.take(ends.searchsorted(starts.take(lowest), side="right"))
        return cls(lines, array("I", samples.take(lowest).tobytes()), array("I", owners.tobytes()))

    def rest(self, shared: Collection[int]) -> tuple[int, set[int]]:
        """Return the words and the samples of all lines but the shared ones."""
        pairs = zip(self.samples, self.owners, strict=True)
        return self.words_without(shared), {sample for sample, owner in pairs if owner not in shared}

    def words_without(self, keys: Iterable[int]) -> int:
        """Return the words of all lines but those with these keys. Each key must be one of this document."""
        return sum(self.lines.values()) - sum(self.lines[key] for key in keys)


NO_LINES = LineSample({}, array("I"), array("I"))
"""The sample of a document of which nothing is remembered."""


@dataclass(slots=True)
class _Story:
    """The first document that brought a line, and how many of its story have followed."""

    first: LineSample
    documents: int = 1


class BoilerplateGuard:
    """Learns boilerplate lines. Not safe for threads: documents are shown to it one after the other."""

    def __init__(self, most_lines: int = MOST_LINES, most_documents: int = MOST_DOCUMENTS) -> None:
        self._most_lines = most_lines
        self._most_documents = most_documents
        # Most lines stand in one document. Only the sample of that document is kept then: the garbage collector has
        # nothing more to visit.
        self._stories: OrderedDict[int, list[_Story] | LineSample] = OrderedDict()
        # Maps the identity of a document's trace to the number of lines for which it is remembered.
        self._lines_of: Counter[int] = Counter()

    def __len__(self) -> int:
        return len(self._stories)

    def learn(self, trace: LineSample, least: int, known: frozenset[int] = frozenset()) -> frozenset[int]:
        """Note a document's lines. Return the keys of its boilerplate lines, except the lines in ``known``.

        The returned lines have at most half of the words outside ``known``, and leave at least ``least`` of them.
        """
        if len(trace.lines) > _LONGEST:
            return self._among(trace.lines, trace, least, known)
        different: dict[int, bool] = {}  # whether this document and another one tell different stories
        seen: list[int] = []
        remembered = 0
        for key in islice(trace.lines, _MOST_LINES_OF_ONE):
            stories = self._stories.get(key)
            if stories is None:
                self._stories[key] = trace
                remembered += 1
                continue
            if isinstance(stories, LineSample):
                stories = self._stories[key] = [_Story(stories)]
            self._stories.move_to_end(key)
            remembered += _count(stories, trace, different)
            seen.append(key)
        if remembered:
            self._lines_of[id(trace)] += remembered
        while len(self._stories) > self._most_lines or len(self._lines_of) > self._most_documents:
            self._forget_oldest()
        return self._among(seen, trace, least, known)

    def _forget_oldest(self) -> None:
        """Forget the line that was met least recently, and the documents that were remembered only for this line."""
        _, stories = self._stories.popitem(last=False)
        for trace in [stories] if isinstance(stories, LineSample) else [story.first for story in stories]:
            self._lines_of[id(trace)] -= 1
            if not self._lines_of[id(trace)]:
                del self._lines_of[id(trace)]

    def _among(self, keys: Iterable[int], trace: LineSample, least: int, known: frozenset[int]) -> frozenset[int]:
        words, found = trace.words_without(known), set[int]()
        room = min(words // 2, words - least)
        for key in keys:
            if key not in known and trace.lines[key] <= room and _is_boilerplate(self._stories.get(key)):
                found.add(key)
                room -= trace.lines[key]
        return frozenset(found)


def _count(stories: list[_Story], trace: LineSample, different: dict[int, bool]) -> bool:
    """Add a document to the first story it may belong to. Return whether it began a story of its own."""
    for story in stories:
        number = id(story.first)
        if number not in different:
            different[number] = _tell_different_stories(trace, story.first)
        if not different[number]:
            story.documents += 1
            return False
    if len(stories) < _MOST_STORIES:
        stories.append(_Story(trace))
        return True
    min(stories, key=lambda story: story.documents).documents += 1
    return False


def _tell_different_stories(one: LineSample, other: LineSample) -> bool:
    """Return whether two documents tell different stories. Return False if too little is left beside shared lines."""
    shared = one.lines.keys() & other.lines.keys()
    common = sum(one.lines[key] for key in shared)
    (words, samples), (other_words, other_samples) = one.rest(shared), other.rest(shared)
    smaller = min(len(samples), len(other_samples))
    if min(words, other_words) < max(common, _LEAST_REST) or not smaller:
        return False
    return len(samples & other_samples) <= _SHARED_REST * smaller


def _is_boilerplate(stories: list[_Story] | LineSample | None) -> bool:
    """Return whether a line stands in several stories and none of them brought most of its documents."""
    if not isinstance(stories, list) or len(stories) < STORIES:
        return False
    counts = [story.documents for story in stories]
    return max(counts) <= _DOMINANT * sum(counts)
