"""The lead of an event: a whole sentence of a page that tells what the page's headline says."""

import re
from functools import lru_cache
from itertools import islice

from scrapy_neardup.evidence.changes import contradict
from scrapy_neardup.evidence.figures.figure import SENTENCE_ENDS, counted_figures, find_figures
from scrapy_neardup.evidence.names import find_names
from scrapy_neardup.evidence.sentence_values import LETTERS
from scrapy_neardup.evidence.titles import terms_of
from scrapy_neardup.evidence.tokens import BACKGROUND, HANGING
from scrapy_neardup.text.display import one_line
from scrapy_neardup.text.folding import fold
from scrapy_neardup.text.sentences import whole_sentences

# A caption, or a line that only names who told: "Об этом сообщает МЧС."
_CREDIT = re.compile(
    r"(?i)[(\[|](?:picture|photo|image|foto|bild|фото|credit)\b"
    r"|^(?:об этом|про це|як передає|как передает|this was (?:disclosed|made known)|\w+ (?:disclosed|stated) this\b)"
)
_OPENING = 60  # characters of a sentence that say whether it is background
_LONGEST_LEAD = 300  # characters
_MOST_READ = 1_500  # characters in which a lead is looked for
_FEWEST_WORDS = 6
_SHORTEST = 15  # characters of a sentence in a script without spaces
# Each sentence is compared with the same headline.
_names_of = lru_cache(maxsize=64)(lambda headline: frozenset(find_names([headline], is_title=True)))


def find_lead(headline: str, text: str) -> str:
    """Return the sentence behind the headline of a page that tells what the headline says, "" if none does.

    Of the first few it is that with most terms of the headline; each place further down costs two. A text without a
    headline has its first sentence. Lines that are no sentences, such as bylines and teasers, background, and sentences
    of over 300 characters are passed over.
    """
    sentences = [sentence.lstrip("-–— ") for sentence in whole_sentences(text[:_MOST_READ])]
    if len(text) > _MOST_READ:
        del sentences[-1:]  # it is cut
    terms = terms_of(headline)
    # The page may print the headline again: a line with so many of its terms is that.
    repeats = (
        at
        for at, line in enumerate(map(terms_of, sentences))
        if len(line & terms) >= 0.8 * max(1, len(line), len(terms))
    )
    first = next(repeats, -1) + 1
    leads = (
        sentence
        for sentence in sentences[first:]
        if is_quotable(sentence) and len(sentence) <= _LONGEST_LEAD
        if not headline or tells_headline(headline, sentence)
        if not is_background(sentence)  # last, because few are
    )
    ranked = [(2 * place - len(terms & terms_of(lead)), place, lead) for place, lead in enumerate(islice(leads, 3))]
    return one_line(min(ranked)[2], _LONGEST_LEAD) if ranked else ""


def is_quotable(sentence: str) -> bool:
    """Decide whether a line is a whole sentence that is understood alone, and no caption, heading or speech."""
    is_long = len(sentence.split()) >= _FEWEST_WORDS or len(sentence.encode()) >= 2 * len(sentence) >= 2 * _SHORTEST
    is_whole = (
        # Thai and Lao have no full stops.
        (sentence.endswith(SENTENCE_ENDS) or re.search("[\u0e01-\u0eff][\u0e01-\u0eff ]{29}$", sentence) is not None)
        and not sentence.endswith((":", ";", "…", "..."))
        and not sentence[:1].islower()
    )
    first = LETTERS.search(sentence)
    is_alone = not _CREDIT.search(sentence) and (first is None or first[0].casefold() not in HANGING)
    return is_long and is_whole and is_alone and len(re.findall('["„“”«»]', sentence)) % 2 == 0


@lru_cache(maxsize=64)  # a sentence is looked at for itself, and for those behind it
def is_background(sentence: str) -> bool:
    """Decide whether a sentence tells what was known earlier, or another event: "Last week a student was killed."."""
    return re.search(BACKGROUND, fold(sentence[:_OPENING]).casefold()) is not None


def tells_headline(headline: str, sentence: str) -> bool:
    """Decide whether a sentence shares names or terms with a headline, and does not contradict its tolls.

    One is enough if it also has a number that the headline counts, such as its toll.
    """
    terms = terms_of(headline)
    figures = find_figures(headline)
    own_figures = find_figures(sentence) if figures else ()
    # A short headline has few names and terms.
    fewest = 2 if len(terms) > 3 and counted_figures(figures).isdisjoint(own_figures) else 1
    is_told = (
        len(terms & terms_of(sentence)) >= fewest
        or len(_names_of(headline).intersection(find_names([sentence]))) >= fewest
    )
    return is_told and not contradict(figures, own_figures)
