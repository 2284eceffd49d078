"""What the words around a figure say of a toll, in each language: "at least", "two more", "last year"."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from scrapy_neardup.evidence.figures.number_words import TABLES

# Without a table, every sentence is taken to have words of an epidemic, damage or an election.
_UNLESS_KNOWN = {"disease": ".?", "damage": ".?", "election": ".?"}
_WITHOUT_SPACES = ("zh", "ja", "th")


class Patterns(dict[str, re.Pattern[str]]):
    """Patterns of the phrases of a language. Each is made when it is first needed, since all take 10 ms."""

    def __init__(self, phrases: Mapping[str, str], language: str) -> None:
        self._phrases = phrases
        self._language = language

    def __missing__(self, role: str) -> re.Pattern[str]:
        self[role] = _pattern(self._phrases.get(role, "(?!)"), has_spaces=self._language not in _WITHOUT_SPACES)
        return self[role]


class Cues(NamedTuple):
    """What the words around a figure say of it, for one language."""

    rewritten: Mapping[str, str]  # phrases: "no one" is 0, "a first" is 1
    phrases: Patterns  # those that are rewritten
    says: Patterns  # by their role; "#" stands for the figure


@lru_cache(maxsize=64)
def cues_of(language: str) -> Cues:
    """Return the cues of a language by its ISO 639-1 code. Without a table only few phrases are known."""
    words = TABLES.get(language, {}).get("tolls", {})
    rewritten = words.get("read as", {})
    roles = {
        **_UNLESS_KNOWN,
        **words,
        "read as": "|".join(rewritten or ["(?!)"]),
        "more": _increments(language),
    }
    return Cues(rewritten, Patterns({each: each for each in rewritten}, language), Patterns(roles, language))


def _increments(language: str) -> str:
    """Return the phrases by which a figure adds to an earlier one. Between the two may stand whom it counts."""
    roles = TABLES.get(language, {}).get("beside", {})
    ahead, behind, place = (
        "|".join(roles.get(role, "(?!)").split()).replace("_", " ")
        for role in ("adding ahead", "adding behind", "prepositions")
    )
    if language in _WITHOUT_SPACES:
        return f"*(?:{ahead})[^ ,]{{0,6}} #|# [^ ]{{0,4}}(?:{behind})"
    return rf"(?:{ahead}) #|# (?:(?!(?:{place}) )[^ ,]{{3,}} ){{0,2}}(?:{behind})(?! than )"


def _pattern(phrases: str, *, has_spaces: bool) -> re.Pattern[str]:
    """Return a pattern for phrases. A star before or behind a phrase stands for the rest of a word."""
    if not has_spaces:
        return re.compile(phrases.replace("*", "[^ ]*"))
    return re.compile(rf"(?<![^\W_])(?:{phrases})(?:(?<=\W)|(?![^\W_]))")
