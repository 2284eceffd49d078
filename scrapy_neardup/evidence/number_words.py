"""Numbers in running text: tell them from dates and times, make them decimal, and say what they count.

The tables come first. All words in them are case-folded. A wrong entry costs little, because a figure only counts if
two documents have the same neighbours. Numbers in words are read by ``spelled_numbers``.
"""

from __future__ import annotations

import re
from decimal import Decimal
from enum import IntEnum
from functools import lru_cache
from itertools import compress

from scrapy_neardup.evidence.spelled_numbers import all_languages, number_words, read_spelled

CURRENCIES: dict[str, str] = {
    **dict.fromkeys("$ usd dollar dollars dólares".split(), "$"),
    **dict.fromkeys("€ eur euro euros".split(), "€"),
    **dict.fromkeys("£ gbp".split(), "£"),
    **dict.fromkeys("¥ jpy yen cny yuan rmb".split(), "¥"),
    **dict.fromkeys("₹ inr rs rupee rupees".split(), "₹"),
    **dict.fromkeys("₽ rub ruble rubles roubles рублей рубля руб".split(), "₽"),
    **dict.fromkeys("kr sek nok dkk kronor kroner".split(), "kr"),
    **dict.fromkeys("chf franken".split(), "chf"),
    "₩": "₩",
    "₺": "₺",
}

PERCENT = frozenset("% percent pct prozent procent процентов процента".split())
PERCENT_PAIRS = frozenset({("per", "cent"), ("pour", "cent"), ("por", "ciento"), ("per", "cento")})

MONTHS = frozenset(
    (
        "january february march april may june july august september october november december"
        " jan feb mar apr jun jul aug sep sept oct nov dec"
        " januar februar märz mai juni juli oktober dezember"
        " janvier février mars avril juin juillet août septembre octobre novembre décembre"
        " enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre"
        " gennaio febbraio aprile maggio giugno luglio settembre ottobre dicembre"
        " janeiro fevereiro março maio junho julho setembro outubro dezembro"
        " januari februari maart mei augustus"
        " января февраля марта апреля мая июня июля августа сентября октября ноября декабря"
    ).split()
)

BEHIND_MAY = frozenset("be have not also still yet well never already soon even need face die lose become".split())
"""Words behind "may" that show that it is the verb: "12 may have died"."""

WEEKDAYS = frozenset(
    (
        "monday tuesday wednesday thursday friday saturday sunday"
        " montag dienstag mittwoch donnerstag freitag samstag sonntag"
        " lundi mardi mercredi jeudi vendredi samedi dimanche"
        " lunes martes miércoles jueves viernes sábado domingo"
    ).split()
)

HEDGES = frozenset(
    (
        "the and least about around roughly nearly almost more than over some under fewer less most many"
        " approximately estimated reportedly another further additional only just"
        " der die das und mindestens rund etwa fast mehr als über"
        " les des moins plus près environ que los las menos más cerca unos"
    ).split()
)
"""Words that come and go beside a number without saying what is counted."""

SAY_NOTHING = frozenset(
    (
        "are was were been being has have had will would can could may might must that which who whom this these those"
        " its their his her our from with for into onto off out not but after before when while there they"
        " sind war waren wurde wurden worden werden sein seien hat haben hatte hatten kamen beim dem den des"
        " sont était étaient été ont avait avaient qui que dans pour avec son eran fue fueron han había habían"
        " para por con como sono erano stati state hanno nel nella foram estão eram têm het een van zijn werden"
        " что был было были как при это"
    ).split()
)
"""Words beside a number that are no label for it: "7 are dead" is about the dead."""

MEASURES = frozenset(
    (
        "mile miles km kilometre kilometres kilometer kilometers foot feet ft metre metres meter meters"
        " inch inches cm centimetres centimeters yards pounds lbs kg kilograms kilos acres hectares"
    ).split()
)
CONVERSIONS = (1.609, 3.281, 2.54, 2.205, 2.471)  # km a mile, feet a metre, cm an inch, pounds a kg, acres a hectare

AGO = frozenset("minute minutes min mins hour hours hr hrs".split())
CLOCK = frozenset("pm uhr".split())
_CLOCK_PAIRS = frozenset({("a", "m"), ("p", "m"), ("o", "clock")})
TIME_ZONES = frozenset("gmt utc est edt pst pdt cet cest bst hours hrs uhr".split())

COUNTED = frozenset(
    (
        "people persons dead deaths killed injured wounded missing cases patients infections victims homes houses"
        " families jobs workers employees soldiers troops migrants refugees students children women men tests doses"
        " metres meters miles feet kilometres kilometers kilograms tons tonnes litres liters acres hectares hours"
        " days points votes seats shares copies units times menschen tote personnes morts personas muertos человек"
    ).split()
)
"""Words that stand behind a count: "2000 people" is no year."""

PERSONS = frozenset(
    (
        "people persons menschen personen personas personnes persone pessoas mensen человек людей человека люди людини"
        " осіб"
    ).split()
)
"""Words for people, of whom the next word may say that they died: "12 people were killed"."""

HARMING = {
    **dict.fromkeys("kill kills killed killing".split(), "killed"),
    **dict.fromkeys("injure injures injured injuring wound wounds wounded wounding".split(), "injured"),
}
TO_BE = frozenset("is are was were be been being".split())
"""With a word of ``HARMING`` behind them they say nothing of the number that follows: "two were killed. 12 people"."""

COUNTED_CHARACTERS = frozenset("人名个個件円元圆圓戸户枚頭头")
"""The same in scripts without spaces, by the first character: "2000人"."""

NAMED_BEFORE = frozenset("magnitude level category version phase aged age grade zone article section".split())
"""Words that name the number behind them: "magnitude 6.1 earthquake" is about the magnitude."""

SCORED = frozenset("win victory loss defeat draw lead against over after half overtime ahead".split())
"""Words that stand behind a score: "a 2-1 win"."""


class FigureKind(IntEnum):
    """What a figure counts, in the order in which a message names them: the dead first, money last."""

    DEAD = 0
    INJURED = 1
    MISSING = 2
    OTHER = 3
    MONEY = 4


# With a star: all words that begin so. In the languages in which numbers in words are read.
_WORDS = {
    FigureKind.DEAD: (
        "dead death deaths died dies dying kill* fatalit* tot tote toten toter todesopfer* getötet* gestorben starben"
        " muert* murier* murió fallecid* fallecier* mort morts morte mortes morti morto mortos mortas"
        " décès tué tués tuée tuées"
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

_SPACED = re.compile(r"[1-9][0-9]{0,2}(?: [0-9]{3})+(?:[.,][0-9]+)?")
_DATE_TIME_PHONE = re.compile(
    r"[0-9]{4}([-/.])[01]?[0-9]\1[0-3]?[0-9]|[0-3]?[0-9]([-/.])[0-3]?[0-9]\2(?:19|20)[0-9]{2}"
    r"|[0-3]?[0-9]/[0-3]?[0-9]/[0-9]{2}"
    r"|(?:[01]?[0-9]|2[0-4])(?::[0-5][0-9]){1,2}|[0-9]{1,2}h[0-9]{2}"
    r"|(?:19|20)[0-9]{2}(?:[-/](?:19|20)?[0-9]{2})"
    r"|(?:[0-9][-.])?[0-9]{3}([-.])[0-9]{3}\3[0-9]{4}"
)
_DAYS = re.compile("(?:[12][0-9]|3[01]|0?[1-9])(?:-(?:[12][0-9]|3[01]|0?[1-9]))?")
_YEAR = re.compile("(?:19|20)[0-9]{2}")
_PLAINER = str.maketrans("⁄‐‑–−’\u00a0\u2009\u202f", "/----'   ")
_JOINTS = re.compile("([-/])")
_SEPARATORS = re.compile("[.,' ]")
_USUAL_LENGTH = 24  # characters of the numbers whose values are remembered
_BETWEEN_DAY_AND_MONTH = frozenset("st nd rd th er of de º ª".split())


def take_numbers(tokens: list[str], starts: list[int]) -> list[tuple[int, int, str, str]]:
    """Find the numbers and overwrite them: "#" for a figure, "" for a date, time, year or phone number.

    ``starts`` are the tokens that begin with a digit; the last three tokens are empty, as ``number_tokens`` leaves
    them. Return for each figure its first token, the token behind it, its value, and its mark: "%", a currency, "."
    if punctuation closes it, or "".
    """
    numbers = []
    end = 0
    words = number_words(tokens)
    scales = all_languages().scales
    if words:
        starts = sorted([*starts, *compress(range(len(tokens)), map(words.__contains__, tokens))])
    for first in starts:
        token = tokens[first]
        if first < end:
            continue
        if token in MONTHS and not tokens[first + 1].isalpha():
            continue  # "Sept. 11" is not French
        if (language := words.get(token)) is not None:
            core, end = read_spelled(tokens, first, language)
            while core and end < len(tokens) and tokens[end] in language.small:
                following, end = read_spelled(tokens, end, language)
                core = f"{core}/{following}"
            if not core:
                continue
            closed = masked = False
        else:
            closed = not token[-1].isdigit()
            core, end = token[:-1] if closed else token, first + 1
            if not core.isdigit():
                core = core.translate(_PLAINER)
            masked = _is_masked(tokens, first, core, token[-1])
        if not masked:
            scale, end = (1, end) if closed else _scale(tokens, first, end, scales)
            mark, end = _mark(tokens, first, end, closed)
            numbers.append((first, end, _value(core.replace(":", "-"), scale, mark), mark))
        tokens[first] = "" if masked else "#"
        for place in range(first + 1, end):
            tokens[place] = ""
    return numbers


def _scale(tokens: list[str], first: int, end: int, scales: dict[str, int]) -> tuple[int, int]:
    token = tokens[end]
    if token == "m" and tokens[first - 1] in CURRENCIES:
        return 10**6, end + 1
    return (scales[token], end + 1) if token in scales else (1, end)


def _mark(tokens: list[str], first: int, end: int, closed: bool) -> tuple[str, int]:
    if not closed:
        token = tokens[end]
        if token in PERCENT:
            return "%", end + 1
        if (token, tokens[end + 1]) in PERCENT_PAIRS:
            return "%", end + 2
        if token in CURRENCIES and (token.isalpha() or not tokens[end + 1][:1].isdigit()):
            return CURRENCIES[token], end + 1
    return CURRENCIES.get(tokens[first - 1], "." if closed else ""), end


def _is_masked(tokens: list[str], first: int, core: str, closing: str) -> bool:
    if not core.isdigit():
        if _DATE_TIME_PHONE.fullmatch(core) or core[0] in "+(":
            return True
        return _is_clock(tokens, first, core) or _is_day(tokens, first, core, closing)
    if len(core) == 4:
        following = tokens[first + 1]
        if following in TIME_ZONES:
            return True
        is_counted = following in COUNTED or following in PERCENT or following in CURRENCIES
        counted = closing.isdigit() and (is_counted or following[:1] in COUNTED_CHARACTERS)
        return _YEAR.fullmatch(core) is not None and not counted and tokens[first - 1] not in CURRENCIES
    return len(core) <= 2 and (_is_clock(tokens, first, core) or _is_day(tokens, first, core, closing))


def _is_clock(tokens: list[str], first: int, core: str) -> bool:
    following, second = tokens[first + 1], tokens[first + 2]
    if following in CLOCK or (following, second) in _CLOCK_PAIRS:
        return True
    if following in AGO and second == "ago":
        return True
    if following == "am":
        return "und" not in tokens[max(0, first - 200) : first + 200]  # German "am Montag" is no time of day
    return following[:1] in ("時", "时", "点") and not following.startswith("時間") and core.isdigit()


def _is_day(tokens: list[str], first: int, core: str, closing: str) -> bool:
    """Return whether a month stands beside this number: in "12. November", but not in "in November, 12"."""
    if not _DAYS.fullmatch(core):
        return False
    before = tokens[first - 1]
    if before == "." and len(tokens[first - 2]) <= 4:
        before = tokens[first - 2]
    if before in MONTHS:
        return True
    behind = first + 1
    while tokens[behind] in _BETWEEN_DAY_AND_MONTH:
        behind += 1
    following = tokens[behind]
    if following[:1] in ("月", "日", "월", "일"):
        return not following.startswith(("日間", "日间", "일간"))
    if following == "may" and tokens[behind + 1] in BEHIND_MAY:
        return False
    return following in MONTHS and (closing.isdigit() or closing == ".")


def _value(core: str, scale: int, mark: str) -> str:
    """Return a written number as a plain decimal, times ``scale``. Parts of scores and ranges are read one by one."""
    if core.isdigit() and scale == 1:
        return core.lstrip("0") or "0"
    return (_read if len(core) <= _USUAL_LENGTH else _read.__wrapped__)(core, scale, mark)


@lru_cache(maxsize=1 << 14)  # numbers repeat, and Decimal is slow
def _read(core: str, scale: int, mark: str) -> str:
    if " " in core and not _SPACED.fullmatch(core):
        core = core.replace(" ", "/")
    return "".join(
        part if part in "-/" else _scaled(_decimal(part, mark == "%"), scale) for part in _JOINTS.split(core)
    )


def _decimal(number: str, fraction: bool) -> str:
    """Tell thousands separators from the decimal one; "1.786" is a fraction only before a percent sign."""
    whole, *groups = _SEPARATORS.split(number)
    separators = [character for character in number if not character.isdigit()]
    decimals = ""
    if len(set(separators)) > 1 and separators.count(separators[-1]) == 1:
        decimals = groups.pop()
    elif not _are_thousands(whole, groups) or (fraction and separators == ["."]):
        if len(groups) > 1:
            return ".".join(group.lstrip("0") or "0" for group in (whole, *groups))
        decimals = "".join(groups)
        groups = []
    whole = ("".join((whole, *groups))).lstrip("0") or "0"
    decimals = decimals.rstrip("0")
    return f"{whole}.{decimals}" if decimals else whole


def _are_thousands(whole: str, groups: list[str]) -> bool:
    if not groups or whole[0] == "0" or len(whole) > 3 or len(groups[-1]) != 3:
        return False
    return all(len(group) == 3 for group in groups) or all(len(group) == 2 for group in groups[:-1])  # lakh and crore


def _scaled(number: str, scale: int) -> str:
    if scale == 1 or number.count(".") > 1:
        return number
    return format((Decimal(number) * scale).normalize(), "f")


def kind_of(label: str) -> FigureKind:
    """Return what a figure with this label counts. The last word decides, but for money: "people killed"."""
    word = label.casefold().strip().rpartition(" ")[2]
    if word in _KINDS:
        return _KINDS[word]
    found = [kind for beginning, kind in _BEGINNINGS if word.startswith(beginning)]
    found += [kind for kind, parts in _PARTS.items() if any(part in word for part in parts)]
    is_money = any(part in _MONEY for part in label.casefold().split() if part not in _SCALES)
    return next(iter(found), FigureKind.MONEY if is_money else FigureKind.OTHER)


def in_words(label: str, old: str, new: str) -> str:
    """Return a changed figure in words: "7 dead, was 3". Dead, injured and missing are said in English."""
    kind = kind_of(label)
    noun = _ENGLISH.get(kind, label if kind is FigureKind.MONEY or label in COUNTED | PERCENT else "")
    told = f"{new} {noun}" if noun else f"{label}: {new}" if label else new
    return f"{told}, was {old}" if old else told
