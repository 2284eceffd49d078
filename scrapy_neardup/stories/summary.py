"""The headline of a story, and the changed figures of its documents."""

import math
import re
from collections import Counter
from collections.abc import Collection, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from scrapy_neardup.evidence.figures.counted import in_words
from scrapy_neardup.evidence.figures.figure import find_figures
from scrapy_neardup.evidence.titles import names_site, title_without_site
from scrapy_neardup.story import Member

_CHANGE = re.compile("(?:(.+): )?(.+) -> (.+)", re.DOTALL)


class FigureChange(NamedTuple):
    """The value that a document gives a figure, and the value before."""

    figure: str  # its label, "" if the change cannot be read
    old: str
    new: str

    @property
    def subject(self) -> tuple[str, str]:
        """Return what identifies the figure: its label, or its old value if it has no label."""
        return (self.figure, "") if self.figure else ("", self.old)

    @property
    def words(self) -> str:
        return in_words(self.figure, self.old, self.new)


def read_change(line: str) -> FigureChange:
    """Read a line such as "dead: 4 -> 12". A line in any other form is a value without a label."""
    found = _CHANGE.fullmatch(line)
    return FigureChange(*found.groups(default="")) if found else FigureChange("", "", line)


_FEWEST_VOTERS = 3
_CLEARLY = 1.5  # times as well, so that an older title is no side article beside the newer ones
_FEWEST_WORDS = 3
_LONGEST_FILLER = 3  # characters of words that say little
_BEGINNING = 6  # characters of a word; the rest is its ending

_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")


def headline_of(members: Sequence[Member], outdated: Collection[str] = ()) -> str:
    """Return the headline of a story, "" if no member has a title that is more than the name of its site.

    ``members`` are in the order they joined. It is the title that agrees best with the newest titles of the newer half
    of the owners, of two the newer one; an older one must agree clearly better. If none agree, it is the first title.
    Passed over are titles that are cut or have one or two words, and those that have a figure of ``outdated``; these
    are values that newer ones have replaced.
    """
    titles = _titles_of(members)
    current = [row for row in titles if outdated and not _figures_of(row[1]) & set(outdated)] or titles
    languages = Counter(member.language for member, _ in current if member.language).most_common(1)
    newest: dict[str, str] = {}
    for member, title in current:
        if member.owner and (not languages or member.language in ("", languages[0][0])):
            newest.pop(member.owner, None)  # an owner's place is that of its newest title
            newest[member.owner] = title
    own = list(newest.values())
    older = max(0, len(own) - max(_FEWEST_VOTERS, math.ceil(len(own) / 2)))

    def support(place: int) -> float:
        others = [title for other, title in enumerate(own) if other >= older and other != place]
        agreed = sum(_agreement(own[place], each) for each in others) / max(1, len(others))
        return agreed if place >= older else agreed / _CLEARLY

    best, place = max(((support(place), place) for place in range(len(own))), default=(0.0, 0))
    if best > 0:
        return own[place]
    return next((title for _, title in current), "")


def _titles_of(members: Sequence[Member]) -> list[tuple[Member, str]]:
    """Return the members with a title, without those that are cut or have one or two words, unless all are."""
    titles = [(member, title) for member in members if (title := _headline(member))]
    whole = [row for row in titles if len(_words(row[1])) >= _FEWEST_WORDS and not row[1].endswith(("...", "…"))]
    return whole or titles


def _agreement(title: str, other: str) -> float:
    """Return the cosine of the words of two titles, 0 if they have different figures."""
    words, others = _words(title), _words(other)
    figures, other_figures = _figures_of(title), _figures_of(other)
    if not words or not others or not (figures <= other_figures or other_figures <= figures):
        return 0.0
    return len(words & others) / math.sqrt(len(words) * len(others))


@lru_cache(maxsize=1000)
def _words(title: str) -> set[str]:
    if unspaced := _UNSPACED.findall(title):
        return {first + second for first, second in pairwise(unspaced)}
    words = re.findall(r"(?:[^\W\d_]|[\u0900-\u0dff])+", title.casefold())  # with the vowel signs of Indic scripts
    return {word[:_BEGINNING] for word in words if len(word) > _LONGEST_FILLER}


@lru_cache(maxsize=1000)
def _figures_of(title: str) -> set[str]:
    return {figure.value for figure in find_figures(title)}


def _headline(member: Member) -> str:
    """Return a member's title without the name of its site, "" if there is no more."""
    title = title_without_site(" ".join(member.title.split()), member.source)
    return "" if names_site(title, member.source) else title
