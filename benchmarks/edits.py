"""Edit a text as editors edit a wire story, by a seeded generator."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from itertools import pairwise

Edit = Callable[[str, str, random.Random], "str | None"]
"""``(text, another article's text, generator)`` -> the edited text, None where the edit does not apply."""

FIRST = (
    "Anna Boris Clara David Elena Felix Greta Hugo Irene Jonas Kira Leon Maya Nils Olga Paul Rita Sven Tara Udo".split()
)
LAST = (
    "Abbott Brandt Castro Dubois Eriksen Fischer Garcia Haddad Ivanov Jensen Keller Lopez Moreau Novak Okafor".split()
)
PAPERS = "Herald Courier Gazette Tribune Observer Chronicle Standard Dispatch Examiner Sentinel Mercury Echo".split()
FOOTERS = (
    "{paper} is not responsible for the content of external sites. Read about our approach to external linking.",
    "Sign up for the {paper} morning briefing and get the stories that matter in your inbox every day.",
    "This story has been published from a wire agency feed without modifications to the text by the {paper}.",
    "Do you have a story for us? Write to the newsroom of the {paper} or call our reporters at any time.",
    "Follow the {paper} for the latest news, analysis and opinion from our correspondents around the world.",
    "Copyright of the {paper}. All rights reserved. This material may not be published, broadcast or rewritten.",
)


def dressed(text: str, rng: random.Random) -> str:
    """The text under one paper's byline and above its footer."""
    paper = f"The {rng.choice(PAPERS)}"
    byline = f"By {rng.choice(FIRST)} {rng.choice(LAST)}, {paper}, staff writer and agencies"
    return f"{byline}\n{text}\n{rng.choice(FOOTERS).format(paper=paper)}"


def other_byline(text: str, other: str, rng: random.Random) -> str:
    """Another paper's byline and footer."""
    return dressed(text, rng)


def words_edited(text: str, other: str, rng: random.Random) -> str:
    """3 words in 100 replaced by words of another article; numbers stay."""
    vocabulary = re.findall(r"[^\W\d_]{3,}", other)
    places = [match.span() for match in re.finditer(r"[^\W\d_]{2,}", text)]
    for start, end in sorted(rng.sample(places, round(0.03 * len(text.split()))), reverse=True):
        text = text[:start] + rng.choice(vocabulary) + text[end:]
    return text


def trimmed(text: str, other: str, rng: random.Random) -> str:
    """Cut from the end to 70 % of its words, as for a smaller hole on the page."""
    ends = [match.end() for match in re.finditer(r"\S+", text)]
    count = round(0.7 * len(ends))
    return text[: ends[count - 1]] if count else ""


def abridged(text: str, other: str, rng: random.Random) -> str:
    """Sentences left out all over, until 40 % of the words remain."""
    sentences = [
        (line, part)
        for line, block in enumerate(text.splitlines())
        for part in re.split(r"(?<=[.!?])\s+", block)
        if part.strip()
    ]
    wanted = 0.4 * len(text.split())
    kept: list[int] = []
    words = 0
    for number in rng.sample(range(len(sentences)), len(sentences)):
        if words >= wanted:
            break
        kept.append(number)
        words += len(sentences[number][1].split())
    kept.sort()
    edited = sentences[kept[0]][1]
    for before, number in pairwise(kept):
        edited += (" " if sentences[before][0] == sentences[number][0] else "\n") + sentences[number][1]
    return edited


def new_lead(text: str, other: str, rng: random.Random) -> str:
    """A first paragraph of 60 words from elsewhere."""
    words = other.split()
    start = rng.randrange(max(1, len(words) - 60))
    return f"{' '.join(words[start : start + 60])}.\n{text}"


def one_figure(text: str, other: str, rng: random.Random) -> str | None:
    """One number in digits, no date, time, year or part of a name, is another number."""
    places = _numbers(text)
    return _renumbered(text, [rng.choice(places)], rng) if places else None


def all_figures(text: str, other: str, rng: random.Random) -> str | None:
    """Every such number is another."""
    places = _numbers(text)
    return _renumbered(text, places, rng) if places else None


EDITS: dict[str, Edit] = {
    "byline and footer changed": other_byline,
    "3 % of words edited": words_edited,
    "trimmed to 70 %": trimmed,
    "abridged to 40 %": abridged,
    "new lead of 60 words": new_lead,
    "one figure changed": one_figure,
    "all figures changed": all_figures,
}

# A number by itself: no letter, dot, slash, dash or colon touches it.
_NUMBER = re.compile(
    r"(?<![\w.,:/$€£#+–-])(?P<sign>[$€£]?)(?P<digits>\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?![\w:/–-]|[.,]\d)"
)
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sept?|oct|nov|dec)[a-z]*\.?"
_MES = r"(?:janeiro|fevereiro|março|abril|maio|junho|julho|agosto|setembro|outubro|novembro|dezembro)"
_DATED_BEFORE = re.compile(
    rf"(?:{_MONTH}|no\.|number|section|article|page|chapter|phase|type|level|version|ios)\s*$", re.IGNORECASE
)
_DATED_BEHIND = re.compile(rf"\s*(?:{_MONTH}\b|de {_MES}\b|[ap]\.?m\b|o'clock|gmt|et\b|bst|cet)", re.IGNORECASE)


def _numbers(text: str) -> list[re.Match[str]]:
    found = []
    for match in _NUMBER.finditer(text):
        value = int(match["digits"].replace(",", ""))
        is_year = "," not in match["digits"] and 1500 <= value <= 2100
        before, behind = text[max(0, match.start() - 20) : match.start()], text[match.end() : match.end() + 12]
        if not (is_year or _DATED_BEFORE.search(before) or _DATED_BEHIND.match(behind)):
            found.append(match)
    return found


def _renumbered(text: str, places: list[re.Match[str]], rng: random.Random) -> str:
    for match in sorted(places, key=re.Match.start, reverse=True):
        value = int(match["digits"].replace(",", ""))
        changed = value + rng.randint(1, max(2, value))
        digits = f"{changed:,}" if "," in match["digits"] else str(changed)
        text = text[: match.start("digits")] + digits + text[match.end("digits") :]
    return text
