"""The headline of a story: the newest title that several sources support, else the first that reads like a headline."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from functools import lru_cache
from itertools import pairwise

from scrapy_neardup.document import Member
from scrapy_neardup.evidence.figures import find_figures
from scrapy_neardup.evidence.titles import names_site, title_without_site
from scrapy_neardup.rules.membership import sources_needed

_FEWEST_WORDS = 3
_FEWEST_CHARACTERS = 6  # in scripts that are written without spaces
_MOST_BYLINE_WORDS = 10
_MOST_NAVIGATION_WORDS = 4
_FEWEST_VOTERS = 3  # so one newest title of two proves nothing
_LONGEST_FILLER = 3  # characters of words that say little
_MOST_DIGITS = 3  # next to one or two words; a date with its year has more

_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
_BY = re.compile(
    r"(?:by|von|par|por|di|door|av|af|автор|(?:text|photo|foto|фото)(?: by| von)?)[:\s]\s*(.+)", re.IGNORECASE
)
# Words between names that need no capital.
_LINKS = frozenset("and und et y e i och og en и de la le du del van von der den al bin for".split())
# How the words of menus, buttons and error pages begin.
_NAVIGATION = re.compile(
    r"text size|print|share|skip to|read more|advert|sponsored|sign (?:in|up)|log ?in|subscribe|newsletter|menu|search|"
    r"home ?page|related|follow us|loading|please|just a moment|access denied|not found|page not|untitled|cookie|"
    r"anzeige|werbung|drucken|teilen|imprimer|partager|publicité|imprimir|compartir|publicidad|stampa|condividi|реклама",
    re.IGNORECASE,
)


def headline_of(members: Sequence[Member], outdated: Collection[str] = ()) -> str:
    """Return the headline of a story, "" if no member has a title that reads like one.

    ``members`` are in the order they joined. The newest titles of different owners vote: as many as confirm a figure,
    at least three. If most of them say much the same, the newest of these is the headline. Otherwise it is the first
    title that has no figure of ``outdated``; these are values that newer ones have replaced.

    A title of one or two words is taken only if there is no longer one. Bylines, dates, menu words and names of sites
    are never taken.
    """
    titles = [(member, title) for member in members if (title := _headline(member))]
    titles = [row for row in titles if _is_long_enough(row[1])] or titles
    current = [row for row in titles if outdated and not _figures_of(row[1]) & set(outdated)] or titles
    return _supported(current) or next((title for _, title in current), "")


def _supported(titles: Sequence[tuple[Member, str]]) -> str:
    """Return the newest title that most of the newest titles support, "" if there is none."""
    languages = Counter(member.language for member, _ in titles if member.language).most_common(1)
    newest: dict[str, str] = {}
    for member, title in titles:
        if member.owner and (not languages or member.language in ("", languages[0][0])):
            newest.pop(member.owner, None)  # an owner's place is that of its newest title
            newest[member.owner] = title
    voters = list(newest.values())[-max(_FEWEST_VOTERS, sources_needed(len(newest))) :]
    for title in reversed(voters):
        if 2 * sum(_agree(title, other) for other in voters) > max(len(voters), _FEWEST_VOTERS):
            return title
    return ""


def _agree(title: str, other: str) -> bool:
    """Decide whether two titles share half the words of the shorter one, and have no different figures."""
    words, others = _words(title), _words(other)
    figures, other_figures = _figures_of(title), _figures_of(other)
    is_alike = 2 * len(words & others) >= min(len(words), len(others)) > 0
    return is_alike and (figures <= other_figures or other_figures <= figures)


def _words(title: str) -> set[str]:
    """Return the words of a title, or pairs of characters if its script is written without spaces."""
    if unspaced := _UNSPACED.findall(title):
        return {first + second for first, second in pairwise(unspaced)}
    return {word for word in re.findall(r"[^\W\d_]+", title.casefold()) if len(word) > _LONGEST_FILLER}


@lru_cache(maxsize=1000)
def _figures_of(title: str) -> set[str]:
    return {figure.value for figure in find_figures(title)}


def _headline(member: Member) -> str:
    """Return a member's title without the name of its site, "" if the rest is no headline."""
    title = title_without_site(" ".join(member.title.split()), member.source)
    is_other = names_site(title, member.source) or _is_date(title) or _is_byline(title) or _is_navigation(title)
    return "" if is_other else title


def _is_date(title: str) -> bool:
    """Decide whether a title is mostly digits: 15.11.2019 10:15, or 15 November 2019."""
    letters, digits = sum(map(str.isalpha, title)), sum(map(str.isdigit, title))
    return letters <= digits or (digits > _MOST_DIGITS and not _is_long_enough(title))


def _is_byline(title: str) -> bool:
    """Decide whether a title is "By" and names: words that all begin with a capital."""
    found = _BY.fullmatch(title)
    words = re.findall(r"[^\W\d_]+", found[1]) if found else []
    names = [word for word in words if word not in _LINKS]
    return 0 < len(names) <= _MOST_BYLINE_WORDS and all(word[0].isupper() for word in names)


def _is_navigation(title: str) -> bool:
    return bool(_NAVIGATION.match(title)) and len(title.split()) <= _MOST_NAVIGATION_WORDS


def _is_long_enough(title: str) -> bool:
    words = sum(any(map(str.isalpha, word)) for word in title.split())
    return words >= _FEWEST_WORDS or len(_UNSPACED.findall(title)) >= _FEWEST_CHARACTERS
