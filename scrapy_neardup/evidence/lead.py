"""The lead of an event: a whole sentence of a page that tells what the page's headline says."""

from __future__ import annotations

import re

from scrapy_neardup.evidence.changes import contradict
from scrapy_neardup.evidence.figures.figure import SENTENCE_ENDS, find_figures
from scrapy_neardup.evidence.names import find_names
from scrapy_neardup.evidence.titles import terms_of
from scrapy_neardup.text.display import one_line
from scrapy_neardup.text.lines import read_bodies
from scrapy_neardup.text.sentences import whole_sentences

_CREDIT = re.compile(r"(?i)[(\[|](?:picture|photo|image|foto|bild|фото|credit)\b")
_QUOTES = re.compile('["„“”«»]')
_LONGEST = 300  # characters
_MOST_READ = 20_000  # characters in which a lead is looked for
_FEWEST_WORDS = 6
_SHORTEST = 20  # characters of a sentence in a script without spaces
_SAME_LINE = 0.8  # share of the terms of a headline and a line that make the line the headline
_FEWEST_SHARED, _SHORT_HEADLINE = 2, 3  # names or terms


def find_lead(headline: str, text: str) -> str:
    """Return the first sentence behind the headline of a page that tells what the headline says, "" if none does.

    A text without a headline has its first sentence. Lines that are no sentences, such as bylines and teasers, and
    sentences of over 300 characters are passed over.
    """
    lines = [line for line, _ in read_bodies([text[:_MOST_READ]], min_words=1, min_block_words=1)[0].read_lines]
    terms = terms_of(headline)
    behind = next((at + 1 for at, line in enumerate(lines) if _is_headline(terms_of(line.text), terms)), 0)
    for line in lines[behind:]:
        text = line.text.lstrip("-–— ")
        is_sentence = text.endswith(SENTENCE_ENDS) and line.words >= _FEWEST_WORDS and len(text) <= _LONGEST
        is_caption = text.endswith(":") or _CREDIT.search(text)
        sentence = whole_sentences(text)[0]
        is_cut = len(_QUOTES.findall(sentence)) % 2  # a part of a quotation
        if is_sentence and not is_caption and not is_cut and (not headline or tells_headline(headline, text)):
            return one_line(sentence, _LONGEST)
    return ""


def is_quotable(sentence: str) -> bool:
    """Decide whether a line is a whole sentence of an article, and no caption, heading or part of a quotation."""
    is_long = len(sentence.split()) >= _FEWEST_WORDS or len(sentence.encode()) >= 2 * len(sentence) >= 2 * _SHORTEST
    is_whole = sentence.endswith(SENTENCE_ENDS) and not sentence.endswith((":", ";")) and not sentence[:1].islower()
    return is_long and is_whole and not _CREDIT.search(sentence) and len(_QUOTES.findall(sentence)) % 2 == 0


def lead_under(headline: str, lead: str) -> str:
    """Return the lead of a page if it tells the headline of the story, which may be that of another page, else ""."""
    return lead if tells_headline(headline, lead) else ""


def tells_headline(headline: str, sentence: str) -> bool:
    """Decide whether a sentence shares names or terms with a headline, and does not contradict its tolls."""
    terms = terms_of(headline)
    names = set(find_names([headline], is_title=True)).intersection(find_names([sentence]))
    fewest = _FEWEST_SHARED if len(terms) > _SHORT_HEADLINE else 1
    if max(len(names), len(terms & terms_of(sentence))) < fewest:
        return False
    return not contradict(find_figures(headline), find_figures(sentence))


def _is_headline(terms: frozenset[int], headline: frozenset[int]) -> bool:
    return bool(headline) and len(terms & headline) >= _SAME_LINE * max(len(terms), len(headline))
