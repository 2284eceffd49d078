"""A claim of one sentence: which texts tell it, and which figures of ledgers agree with it.

A text tells a claim if a passage of it, with its title, has most rare terms of the claim, and its names and figures. So
a claim in other words, or in another language, may not be found, and a text that denies it may be. How many people were
harmed need not agree: whether the ledger has another number is what is asked.
"""

import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from scrapy_neardup.evidence.figures.figure import find_figures
from scrapy_neardup.evidence.figures.tolls import tolls_of
from scrapy_neardup.evidence.titles import FIGURE, NAME, term_codes, terms_of
from scrapy_neardup.records.documents import StoredText
from scrapy_neardup.records.learned import Frequencies
from scrapy_neardup.rules.ledger import against, supporters_of
from scrapy_neardup.stories.summary import label_of
from scrapy_neardup.story import Ledger, PrintedFigure
from scrapy_neardup.text.folding import fold
from scrapy_neardup.text.sentences import whole_sentences

MOST_WORDS = 60  # a longer sentence is a text


def is_claim(text: str) -> bool:
    return len(whole_sentences(text)) == 1 and len(text.split()) <= MOST_WORDS


class Claim:
    """A claim, and what a passage must have to tell it: most of its rare terms, and all names and numbers.

    ``why_not`` says why nobody can be asked for it, "" if that is not so.
    """

    def __init__(self, sentence: str, frequencies: Frequencies) -> None:
        self._tolls = tolls_of("", sentence)
        of_tolls = {str(value) for toll in self._tolls for value in (toll.low, toll.high)}
        # A text may say few in other words: "he and his brother".
        self._numbers = _numbers(sentence) - of_tolls - ({"1", "2", "3"} - _digits(sentence))
        read = term_codes(fold(sentence))
        codes = [code for code in read if code < FIGURE]
        slots = np.array(sorted({code % NAME for code in codes}), np.uint32)
        shares = (frequencies.counts(slots) + 1) / (frequencies.documents + 1)
        self._weights = {slot: -math.log(share) for slot, share in zip(slots.tolist(), shares.tolist(), strict=True)}
        self._names = {code % NAME for code in codes if code & NAME}
        # A first word that is very rare may be a name.
        if codes[:1] == read[:1] and sentence[:1].isupper() and self._weights[codes[0] % NAME] > 4:
            self._names.add(codes[0] % NAME)
        self.why_not = ""
        if len(slots) < 3:
            self.why_not = "the claim is too short"
        elif max(self._weights.values()) < 2.3:  # that of a term which a tenth of the documents have
            self.why_not = "the claim has no rare word"

    def sentence_in(self, text: StoredText) -> str:
        """Return the sentence of a text that tells most of the claim, "" if the text does not tell it.

        It must tell much of the claim alone: in news the parts of a wrong claim stand beside one another.
        """
        title = terms_of(text.title)
        # A short line without a stop may be the title of another article.
        sentences = [
            (each, terms_of(each))
            for each in (text.title, *whole_sentences(text.text))
            if each == text.title or each[-1].lower() == each[-1].upper() or len(each.split()) > 12
        ]
        best = ""
        # The share of the weights of the terms that a passage has, which also has all names and numbers.
        least = 0.65 if len(self._names) + len(self._numbers) < 2 else 0.55
        for at in range(len(sentences)):
            passage = sentences[at : at + 3]
            told, terms = max(passage, key=lambda each: self._share(each[1]))
            known = title.union(*(each for _, each in passage))
            numbers = _numbers("\n".join([text.title, *(each for each, _ in passage)]))
            is_told = self._share(terms) > 0.35 and self._names <= known and self._numbers <= numbers
            if is_told and self._share(known) > least:
                least = self._share(known)
                best = told
        return best

    def _share(self, terms: frozenset[int]) -> float:
        return sum(weight for slot, weight in self._weights.items() if slot in terms) / sum(self._weights.values())

    def figures(self, ledgers: Sequence[Ledger]) -> list[dict[str, Any]]:
        """Return for each toll of the claim how many owners print it, and how many print what contradicts it."""
        rows = []
        for toll in self._tolls:
            high = None if toll.high is None else float(toll.high)
            claimed = PrintedFigure(toll.kind, float(toll.low), high, toll.qualifier, False, b"", b"", -1)
            agree = {each.owner for ledger in ledgers for each in supporters_of(ledger, claimed)}
            others = {(each.owner, each.words) for ledger in ledgers for each in against(ledger, claimed)}
            counts = Counter(value for _, value in others)
            rows.append(
                {
                    "figure": label_of(toll.kind),
                    "value": claimed.words,
                    "agree": len(agree),
                    "contradict": [{"value": value, "owners": owners} for value, owners in counts.most_common()],
                }
            )
        return rows


def _numbers(text: str) -> set[str]:
    """Return the figures of a text, also those of dates and names."""
    return {figure.value for figure in find_figures(text)} | _digits(text)


def _digits(text: str) -> set[str]:
    return {re.sub("[.,](?=[0-9]{3}(?![0-9]))", "", number) for number in re.findall("[0-9]+(?:[.,][0-9]+)*", text)}
