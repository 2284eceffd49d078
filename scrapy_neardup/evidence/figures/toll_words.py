"""What the words around a figure say of a toll, in each language: "at least", "two more", "last year"."""

import re
from collections.abc import Container, Mapping, Sequence
from functools import lru_cache
from itertools import chain, takewhile

from scrapy_neardup.evidence.figures.counted import CUT, FigureKind, is_next, kinds_told
from scrapy_neardup.evidence.figures.number_words import TABLES, WORDS

ENDS = WORDS["and"] | WORDS["prepositions"] | WORDS["determiners"]  # of the words that go with a figure
_JOINTS = "|".join(WORDS["and"] | WORDS["joins clauses"])  # some, such as "en", are prepositions in other languages
_YEAR = "(?:19|20)[0-9]{2}"
_FAR = 16  # characters to the word that tells that the injured have died
_TOGETHER = 24  # phrases that are looked for by one pattern, before each is by its own
_WITHOUT_SPACES = ("zh", "ja", "th")
# Behind such a word another clause begins: "is preparing to search after 12 people were killed".
_THEN = "after|nachdem|nadat|efter|etter|apres|despues|tras|dopo|depois|apos|dupa|после|після|nakon|након|setelah"
_AHEAD = {"ar": "(?:[وفب]?ال|[وفب])?", **dict.fromkeys(_WITHOUT_SPACES, "*")}  # of a word of harm
# The numbers for which words stand, see ``stated_numbers``.
MARKS = {"xxnone": "0", "xxfirst": "1", "xxanother": "1", "xxone": "1"}


class Cues(dict[str, re.Pattern[str]]):
    """What the words around a figure say of it, for one language: patterns by their role.

    Each is made when it is first needed, since all take 10 ms. "@" stands for a word for people, "#" for the figure.
    ``rewritten`` are phrases that are read as others: "no one" is 0, "a first" is 1. They come in groups, by a pattern
    that finds any phrase of the group. Patterns of groups and phrases serve as names of roles too.
    """

    def __init__(self, phrases: Mapping[str, str], rewritten: Mapping[str, Mapping[str, str]], language: str) -> None:
        self._phrases = phrases
        self._language = language
        self.rewritten = rewritten

    def __missing__(self, role: str) -> re.Pattern[str]:
        phrases = self._phrases.get(role, "(?!)")
        if "@" in phrases:
            words = f"{self._phrases['people']} {self._phrases['persons']}"
            phrases = phrases.replace("@", rf"(?:{'|'.join(words.split())})(?![^\W_])")
        pattern = rf"(?<![^\W_])(?:{phrases})(?:^|(?<=\W)|(?![^\W_]))"
        if self._language in _WITHOUT_SPACES:
            pattern = phrases.replace("*", "[^ ]*")  # a star stands for the rest of a word
        self[role] = re.compile(pattern)
        return self[role]

    def rewrite(self, folded: str) -> str:
        """Return a sentence with its phrases rewritten, one after the other. Most sentences have none."""
        for group, phrases in self.rewritten.items():
            if self[group].search(folded):
                for phrase, replacement in phrases.items():
                    folded = self[phrase].sub(replacement, folded)
        return folded

    def ordinal(self, phrase: str) -> int:
        """Return 3 for "a third" and "3rd", 0 for a phrase that is no ordinal."""
        found = self["ordinals"].search(phrase)
        return int(found[1] or found.lastindex or 0) if found else 0


@lru_cache(maxsize=64)
def cues_of(language: str) -> Cues:
    """Return the cues of a language by its ISO 639-1 code. Without a table only few phrases are known."""
    table = TABLES.get(language, {})
    words = table.get("tolls", {})
    phrases = [*words.get("read as", {}).items()]
    groups = (dict(phrases[at : at + _TOGETHER]) for at in range(0, len(phrases), _TOGETHER))
    rewritten = {"|".join(each): each for each in groups}
    beside = table.get("beside", {})
    ahead, behind, place = (
        "|".join(beside.get(role, "(?!)").split()).replace("_", " ")
        for role in ("adding ahead", "adding behind", "prepositions")
    )
    # A figure adds to an earlier one. Between the two words may stand whom it counts.
    articles = "|".join(table.get("numbers", {}).get("articles") or ["(?!)"])
    adding = (
        rf"(?:{ahead})(?: (?:{articles}))? #|# (?:(?!(?:{place}) )[^ ,]{{3,}} ){{0,2}}(?:{behind})(?! than | [0-9])"
    )
    if language in _WITHOUT_SPACES:
        adding = f"*(?:{ahead})[^ ,]{{0,6}} #|# [^ ]{{0,4}}(?:{behind})"
    since = words.get("since", "(?!)")
    unsure = words.get("unsure", "(?!)")
    # Some words that say what is counted are other words in other languages.
    harm = "|".join(" ".join(table.get("counted", {}).values()).split()).replace("*", "[^ ]*")
    roles = {
        "people": "",
        "persons": "",
        **beside,
        "number of": "|".join(beside.get("number of", "(?!)").split()),
        # Without a table, every sentence is taken to have words of an epidemic, damage or an election.
        **dict.fromkeys(("damage", "election"), ".?"),
        **words,
        "disease": f"{TABLES['und']['tolls']['disease']}|{words.get('disease', '.?')}",
        # "the first death since 2015"
        "since": f"(xxfirst .*)(?:{since})(?: [^ ,.]+){{0,2}}? {_YEAR}"
        f"|{_YEAR}(?:[^ ,.]{{0,5}} ){{0,2}}(?:{since})(?=.*xxfirst)",
        "old": f"{words.get('old', '(?!)')}|{words.get('wrong', '(?!)')}",
        # In one clause: "30 people probably died". Such a word may have a comma behind it.
        "unsure": f"(?:{unsure})(?: ,)?(?: (?!(?:{_THEN}) )[^ ,#]+)* #|# (?:[^ ,#]+ )*?(?:{unsure})",
        # "# people were killed and", behind which another clause begins
        "own": rf"^(?=(?:[^ ]+ )*?(?:{'|'.join(WORDS['auxiliaries'])}) (?:[^ ]+ )*?(?:{_JOINTS}) )"
        rf"(.*?# (?:[^ ,#]+ )*?@ (?:[^ ,#]+ )*?(?:{harm or '(?!)'}) (?:[^ ,#]+ )*?)(?:{_JOINTS}) .*",
        "more": f"{adding}|{words.get('more', '(?!)')}",
        "harm": f"{_AHEAD.get(language, '')}(?:{harm or '(?!)'})",
        # The first group is a number in digits, the second one is "second", and so on.
        "ordinals": "|".join(
            ("([1-9][0-9]+|[2-9]) ?[^ 0-9]+", *map("({})[^ ]*".format, words.get("ordinals", "").split()))
        ).replace("_", " "),
        "marks": "|".join(f"(?P<{mark}>{words.get(mark[2:], '(?!)')})" for mark in MARKS),
    }
    return Cues({each: each for each in chain(rewritten, *rewritten.values())} | roles, rewritten, language)


def has_died(behind: Sequence[str], cues: Cues, ends: Container[str] = ENDS) -> bool:
    """Decide whether the people whom these words tell of are dead by now: "two of the injured", "died in hospital".

    The words are read up to the end of their clause.
    """
    clause = [*takewhile(lambda word: word[:1].isalpha() and word not in ends and not is_next(word), behind)]
    # Not "hurt in the flood that killed a farmer": a word before an article tells of others.
    clause = [word for at, word in enumerate(clause, 1) if WORDS["determiners"].isdisjoint(behind[at : at + 1])]
    if clause and clause[0] > CUT:
        clause += [clause[0][at:_FAR] for at in range(_FAR)]
    # Only words of this language count: "die" is an article in German.
    return FigureKind.DEAD in kinds_told(filter(cues["harm"].search, clause))


def is_beside_other(kind: int, before: Sequence[str], cues: Cues) -> bool:
    """Decide whether another kind is told before a figure: "A man died and another 13 were injured"."""
    told = kinds_told(filter(cues["harm"].search, before))
    places = {FigureKind.HOSPITALISED, FigureKind.VICTIMS, FigureKind.CASES}  # "in hospital", "in the case"
    return kind is not FigureKind.DEAD and not told <= {kind, *places}
