"""Stories do not merge by accident: what unrelated news and chains of weak likeness come to.

NEARDUP_LONG_TESTS=1 runs the unrelated documents in full length.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence

import pytest
from long_form import LONG
from texts import article, noisy

from scrapy_neardup.detector import NearDupDetector
from scrapy_neardup.document import Verdict
from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.stories.event import StoryEvent

pytestmark = pytest.mark.slow

START = 1_700_000_000
HOUR = 3600
DAY = 24 * HOUR
DOCUMENTS = 50_000 if LONG else 1_000
HANDFUL = 4
REWRITTEN = 0.3  # share of the words: enough to be related, too much for a copy
_SOURCES = 200
_WORDS_A_LINE = 20


class _Language:
    """Words as frequent as in a language, the commonest over and over; no two seeds tell the same."""

    def __init__(self) -> None:
        draw = random.Random("language")
        self._words = ["".join(draw.choices("abdegiklmnoprstuv", k=draw.randint(2, 9))) for _ in range(20_000)]
        self._weights = [0.0]
        for rank in range(1, len(self._words) + 1):
            self._weights.append(self._weights[-1] + 1 / (rank + 2))
        del self._weights[0]

    def line(self, draw: random.Random, count: int = _WORDS_A_LINE) -> str:
        return " ".join(draw.choices(self._words, cum_weights=self._weights, k=count))


async def _run(documents: Sequence[tuple[str, str]], span: float) -> tuple[list[Verdict], list[StoryEvent]]:
    """Verdicts and events of (source, text) spread evenly over so many seconds."""
    detector = NearDupDetector(NearDupSettings(store="memory://"), run="")
    await detector.open()
    given = [
        detector.document(text, url=f"https://{source}.example/{n}", seen_at=START + n * span / len(documents))
        for n, (source, text) in enumerate(documents)
    ]
    verdicts: list[Verdict] = []
    for first in range(0, len(given), 256):
        verdicts += await detector.check_in_order(given[first : first + 256])
    await detector.finish(all_over=True)
    await detector.close()
    return verdicts, detector.take_events()


async def test_unrelated_documents_about_common_names_make_no_story() -> None:
    """Each text has six to twelve names: a few are in every tenth text, most in few. The more texts, the more names."""
    language, draw = _Language(), random.Random(8)
    names = ["".join(draw.choices("abdegiklmnoprstuv", k=7)).capitalize() for _ in range(DOCUMENTS // 2)]
    weights = [1 / (rank + 10) for rank in range(len(names))]
    documents = []
    for _ in range(DOCUMENTS):
        words = language.line(draw, 80).split()
        for name in draw.choices(names, weights, k=draw.randint(6, 12)):
            words.insert(draw.randrange(1, len(words)), name)
        documents.append((f"s{draw.randrange(_SOURCES)}", " ".join(words)))
    verdicts, events = await _run(documents, DAY)
    sizes = Counter(verdict.story for verdict in verdicts if verdict.story)
    assert sum(sizes.values()) == DOCUMENTS
    assert max(sizes.values()) <= HANDFUL
    assert events == []


async def test_a_chain_of_weak_likeness_is_no_event() -> None:
    """Each text is a rewrite of the one before it: the first and the last have nothing in common."""
    text, chain = article("wire", 400), []
    for number in range(40):
        chain.append((f"s{number}", text))
        text = noisy(text, REWRITTEN, number)
    verdicts, events = await _run(chain, HOUR / 2)
    assert Counter(verdict.status for verdict in verdicts)["related"] >= 15
    assert events == []
