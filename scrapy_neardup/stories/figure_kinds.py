"""What a figure counts: a message names the dead first, then the injured and the missing, then others, and money last.

A label is a word of an article, so the tables have the languages in which numbers are read: English, German, Spanish,
French, Italian, Portuguese, Dutch, Russian, Ukrainian, Japanese and Chinese.
"""

from __future__ import annotations

from enum import IntEnum

from scrapy_neardup.evidence.number_words import COUNTED, CURRENCIES, PERCENT


class FigureKind(IntEnum):
    """The kinds of figures, in the order in which a message names them."""

    DEAD = 0
    INJURED = 1
    MISSING = 2
    OTHER = 3
    MONEY = 4


# Case-folded. With a star: all words that begin so.
_WORDS = {
    FigureKind.DEAD: (
        "dead death deaths died dies dying kill* fatalit* tot tote toten toter todesopfer* getötet* gestorben"
        " muert* fallecid* fallecier* mort morts morte morti morto mortos mortas décès tué tués tuée tuées"
        " vittime uccis* decedut* morrer* óbito* doden dood overleden gedood omgekomen"
        " погиб* умер* убит* жертв* скончал* загиб* помер* вбит*"
    ),
    FigureKind.INJURED: (
        "injur* wounded hurt hospitalised hospitalized verletzt* verwundet* herid* lesionad* blessé* ferit* ferid*"
        " gewond* ранен* пострада* травм* поранен* постражд*"
    ),
    FigureKind.MISSING: ("missing unaccounted vermiss* desaparecid* disparu* dispers* vermist* пропал* пропавш* зник*"),
}
# In scripts without spaces a label is a part of a clause, so the word may be anywhere in it.
_PARTS = {
    FigureKind.DEAD: "死 遇难 遇難 遗体 遺体 犠牲".split(),
    FigureKind.INJURED: "傷 伤 けが 怪我".split(),
    FigureKind.MISSING: "不明 失踪 失蹤 失联".split(),
}
_KINDS = {word: kind for kind, words in _WORDS.items() for word in words.split()}
_BEGINNINGS = tuple((word[:-1], kind) for word, kind in _KINDS.items() if word.endswith("*"))
_MONEY = frozenset(CURRENCIES) | frozenset(CURRENCIES.values())
_SCALES = frozenset("thousand million millions billion billions trillion trillions bn mn".split())
_ENGLISH = {FigureKind.DEAD: "dead", FigureKind.INJURED: "injured", FigureKind.MISSING: "missing"}


def kind_of(label: str) -> FigureKind:
    """Return what a figure with this label counts."""
    word = label.casefold().strip()
    if word in _KINDS:
        return _KINDS[word]
    found = [kind for beginning, kind in _BEGINNINGS if word.startswith(beginning)]
    found += [kind for kind, parts in _PARTS.items() if any(part in word for part in parts)]
    is_money = any(part in _MONEY for part in word.split() if part not in _SCALES)
    return next(iter(found), FigureKind.MONEY if is_money else FigureKind.OTHER)


def in_words(label: str, old: str, new: str) -> str:
    """Return a changed figure in words: "7 dead, was 3". Dead, injured and missing are said in English."""
    kind = kind_of(label)
    noun = _ENGLISH.get(kind, label if kind is FigureKind.MONEY or label in COUNTED | PERCENT else "")
    told = f"{new} {noun}" if noun else f"{label}: {new}" if label else new
    return f"{told}, was {old}" if old else told
