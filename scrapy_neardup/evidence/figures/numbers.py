"""Find the numbers in a text: tell them from dates and times, and make them decimal.

Chinese and Japanese numerals that count something become digits first, see ``number_words``.
"""

import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from itertools import compress
from typing import Any

from scrapy_neardup.evidence.figures.number_words import (
    BEFORE_MONEY,
    COMMA,
    COUNTED_CHARACTERS,
    CURRENCIES,
    FIGURE,
    IDEOGRAPHS,
    KOREAN,
    LINE_END,
    PERCENT,
    PERCENT_PAIRS,
    WORDS,
    NumberWords,
    all_languages,
    half_behind,
    number_words,
    read_spelled,
    to_myriads,
    with_digits,
)
from scrapy_neardup.evidence.word_tables import MONTHS, WEEKDAYS, read_table
from scrapy_neardup.text.folding import fold

WORDING: dict[str, Any] = read_table("wording.json")
DAYS = WEEKDAYS.union(WORDING["relative_days"].split())
FRACTIONS = {word: Decimal(value) for value, words in WORDING["fractions"].items() for word in words.split()}
# A plain class, not \w: \w ends words at the vowel signs of Indic scripts and Thai.
_LETTERS = (
    r"[^\x00-`{-©«-´¶-¹»-¿\u060c\u061b\u06d4؟\u0964\u0965"
    r"\u104a\u104b\u1361-\u1368\u17d4\u17d5\u2000-\u2bff\u3000-\u3004！？]"
)
_IDEOGRAPHS = re.compile(f"[{IDEOGRAPHS}]")
_SIGNS = "$£¥" + "".join(map(chr, range(0x20A0, 0x20C1)))  # of currencies
_WITH_LETTERS = re.compile(
    r"([0-9](?<![0-9].)(?:[0-9]{0,2}(?: [0-9]{3}){1,4}|[0-9]*(?:[.,-][0-9]+){0,4}))( ?)([^\W\d_]{1,4})(?!\w)"
)
_MONEY_BEFORE = re.compile(rf"(?:[{_SIGNS}] ?|[^\W\d_]{{2,}} ?|[^\W\d_])$")  # "N20M", but not "p 20M"
_MONEY_BEHIND = re.compile(rf" ?(?:de |d')?([{_SIGNS}]|[^\W\d_]+)")
_MONEY = BEFORE_MONEY.union(CURRENCIES, _SIGNS)
_SCALE_LETTERS = {"k": "thousand", "m": "mln", "b": "mrd", "t": "trn"}
_IS_CODE = re.compile(
    r"(?<![\w.,/:-])(?<![0-9] )[0-9]+[ABD-EG-VX-ZАБГДЕЖ](?![\w-])"
).match  # "30C" and "20W" are measures
# A full stop inside of a number, and what follows: "5 тыс. человек", "2 Mio. Euro", "2 млн. 300 тыс. рублей".
_STOP = re.compile(rf" (?<=(\w) )([^\W\d_]+)\. ?(?=(?:[0-9]+ ([^\W\d_]+)\.? )?([{_SIGNS}]|[^\W\d_]+))")
_BEGINNING = re.compile(r"(?:^|\n|[.] )(?:([^\W\d_]+) )?[0-9.,]+$")  # no sentence ends before its verb: "Rund 2 Mio."
_QUARTERS = (("½", ".5"), ("¼", ".25"), ("¾", ".75"))
_LAKH = fold("हजार|लाख|करोड़|হাজার|লাখ|কোটি|ہزار|لاکھ|کروڑ")
_THAI_SCALE = fold("พัน|หมื่น|แสน|ล้าน")
_THAI_COUNTED = fold("บาท|คน|ราย|ครั้ง|ดอลลาร์|ยูโร|ตัน|ไร่|หลัง|ครัวเรือน|ครอบครัว|ตัว|เล่ม|คัน")
# How numbers are written otherwise: a sign without which a text has none, a pattern, and the usual form.
# A pattern that begins with a set of characters, and looks behind it, is searched ten times as fast.
_REWRITTEN: tuple[tuple[str, re.Pattern[str], str | Callable[[re.Match[str]], str]], ...] = (
    *((sign, re.compile(r"(?:https?://|www\.|\.(?:com|org|net)/)\S+"), " ") for sign in ("/", "www.")),
    *((sign, KOREAN, to_myriads) for sign in "만억조천"),
    ("'я", re.compile("'я"), "я"),  # inside Ukrainian words: "п'ять"
    (", ", re.compile("([$€£¥₦₹] ?[0-9]{1,3}(?:,[0-9]{3})*), (?=[0-9]{3}(?![0-9]))"), r"\1,"),  # "$840, 650"
    # "1,122, 095" and "1, 300,722"
    (", ", re.compile("([0-9](?<![0-9,.].)[0-9]{0,2}(?:,[0-9]{3})+), (?=[0-9]{3}(?![0-9]))"), r"\1,"),
    (", ", re.compile("([0-9](?<![0-9,.] .)(?<![0-9,.].)[0-9]{0,2}), (?=[0-9]{3},[0-9]{3}(?![0-9]))"), r"\1,"),
    ("百分之", re.compile("百分之([0-9.]+|[〇零一二两三四五六七八九十百]+)"), r"\1%"),
    ("パーセント", re.compile("パーセント"), "%"),
    ("퍼센트", re.compile("퍼센트"), "%"),
    ("ร้อยละ", re.compile("ร้อยละ ?(?=[0-9])"), " %"),
    (
        ", ",
        re.compile(
            r"(?i)(?<![\w-])((?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)[a-z]{0,6}) ([0-3]?[0-9]), "
            "(?=(?:19|20)[0-9]{2}(?![0-9]|[.,][0-9]))"
        ),
        r"\2 \1 ",  # "March 5, 2026"
    ),
    ("och en halv", re.compile(r"(?i)(?<!\w)en och en halv (?=miljon|miljard|tusen)"), "1,5 "),
    *(
        (half, re.compile(f"(?i)(?<!\\w){half}(?!\\w)"), "500000")
        for half in ("medio millon", "meio milhao", "mezzo milione", "yarim milyon")  # folded
    ),
    # Scales of Thai, without spaces before what they count. Elsewhere they may begin a name or a rank.
    (
        "น",
        re.compile(f"([0-9]) ?((?:{_THAI_SCALE})+)(?={_THAI_COUNTED})"),
        lambda found: f"{found[1]} {' '.join(re.findall(_THAI_SCALE, found[2]))} ",
    ),
    # A scale before its number, in Swahili and Sinhala.
    *(
        (scale[1:], re.compile(rf"(?i)(?<![\w-])(?<![0-9] )({scale}) ([0-9]+(?:[.,][0-9]+)*)"), r"\2 \1")
        for scale in fold("elfu මිලියන බිලියන ලක්ෂ කෝටි").split()
    ),
    # "साढ़े 3 लाख" are three and a half.
    *((word, re.compile(f"{word} ([0-9]{{1,2}})(?= ?(?:{_LAKH}))"), r"\1.5") for word in fold("साढ़े সাড়ে ساڑھے").split()),
    ("٫", re.compile("٫"), "."),
    ("٬", re.compile("٬"), ","),
    *((sign, re.compile(f"(?<![0-9])(?<![0-9] ){sign}"), f"0{value}") for sign, value in _QUARTERS),
    *((sign, re.compile(f" ?{sign}"), value) for sign, value in _QUARTERS),
)

# Numbers with nothing but spaces between them are one token, whether they make one number ("1 200") or not ("73 99"):
# else an edit from one kind to the other would change how many figures there are.
_PART = r"(?!(?:19|20)[0-9]{2}(?![0-9]))[0-9]+(?:[.,][0-9]+)*"
_MARKS = {**dict.fromkeys(".!?;\n。！？؟۔।።။។", LINE_END), **dict.fromkeys(",،、", COMMA)}
_NO_CURRENCY = "".join(rf"(?<!\b{re.escape(word)})" for word in CURRENCIES if word.isalpha())
_TOKEN = re.compile(
    # A whole number that is written to a word counts nothing, as in "Covid-19", unless the word is a currency. Some
    # scripts are written without spaces, and in Arabic and Hebrew "and" is written to the number.
    rf"(?<=[a-zß-\u052f])(?=-?[0-9]){_NO_CURRENCY}-?[0-9]+(?![.,:/'⁄−-]?[0-9])"
    # Endings behind a number say nothing either, as those of Turkish: "9'a", "4'ten".
    "|(?<=[0-9])'(?!s )[a-z]{1,6}(?![a-z0-9])"
    rf"|({_LETTERS}+"
    # A punctuation mark behind a number is kept with it: the number does not count the word after the mark.
    rf"|{_PART}(?:[ ]{_PART})+(?![.,:/'⁄−-]?[0-9])[.,;:)!?]?"
    r"|[0-9]{1,3} (?:1/2|[13]/4)(?![0-9/])[.,;:)!?]?"
    r"|[0-9]{1,2}h[0-9]{2}(?![0-9a-z])"
    r"|[0-9]+(?:[.,:/'⁄−-][0-9]+)*[.,;:)!?]?"
    r"|\+[0-9]{1,3}(?:[ -]\(?[0-9]{1,4}\)?){3,6}|\+[0-9]{8,15}|\([0-9]{3}\) ?[0-9]{3}-[0-9]{4}"
    rf"|[{_SIGNS}%°№({re.escape(''.join(_MARKS))}])"
)
_IS_NUMBER = re.compile("[(+]?[0-9]").match

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
_IS_POINTED = re.compile(r"[1-9][0-9]{0,2}(?:\.[0-9]{3})+").fullmatch
_MOST_DIGITS = 15  # digits of a number that is added to a million
# Languages in which "1.200 million" are 1,200 million. Elsewhere it is a fraction.
_WITH_POINTS = frozenset("ca da de el es eu gl hr id is it mk nl pt ro sl sr tr vi".split())


def with_scales(text: str) -> str:
    """Return a folded text with words for letters that are scales.

    They are scales beside a currency and behind a fraction, and so is K behind more than one digit: "$20K", "5M euros",
    "7.7M", "20K people". Elsewhere a capital is of a code, and its number counts nothing: "flat 12B" -> "flat BB12".
    The full stop behind a scale is left out if the sentence goes on, else a line ends there. Capitals are needed to
    tell, so ``casefold`` the text afterwards.
    """
    has_capitals = not text.islower()
    return _STOP.sub(lambda stop: _without_stop(stop, has_capitals=has_capitals), _WITH_LETTERS.sub(_with_word, text))


def printed_numbers(text: str) -> dict[str, str]:
    """Return the numbers that ``with_scales`` changes in a text, each with its printed form: "20 thousand", "20K"."""
    return {_with_word(found): found[0] for found in _WITH_LETTERS.finditer(text)}


def _with_word(found: re.Match[str]) -> str:
    """Return a number with a word for the letters behind it, or as a code, or as it is."""
    number, space, letters = found.groups()
    word = letters.casefold()
    scale = letters * (word in all_languages().scales)
    is_thousand = letters == "K" and len(number) > 1 and number != "10"  # not "4K", "10K"
    is_scale = is_thousand or f"{space}{letters}" in ("k", " K") or (letters in "KMB" and not number.isdigit())
    if word in _SCALE_LETTERS and not is_scale:
        # A currency has at most 16 characters with its space.
        before = _MONEY_BEFORE.search(found.string, max(0, found.start() - 16), found.start())
        behind = _MONEY_BEHIND.match(found.string, found.end())
        is_scale = before is not None and before[0].rstrip().casefold() in _MONEY
        is_scale |= behind is not None and behind[1].casefold() in CURRENCIES
    if is_scale:
        scale = _SCALE_LETTERS.get(word, scale)
    if scale:
        return f"{number} {scale}"
    if _IS_CODE(found.string, found.start()):
        return f"{letters}{letters}{number}"
    return found[0]


def _without_stop(stop: re.Match[str], *, has_capitals: bool) -> str:
    """Return a word and its full stop; without the stop inside of a number, with an end of line behind one."""
    last, word, between, behind = stop.groups()
    scales = all_languages().scales
    if word.casefold() not in scales:
        return stop[0]
    begins = _BEGINNING.search(stop.string, 0, stop.start())
    is_first = between is None and begins is not None and (not begins[1] or begins[1].casefold() in WORDS["hedges"])
    is_of_number = is_first or behind.casefold() in CURRENCIES or (has_capitals and behind[0].islower())
    if is_of_number and (not between or between.casefold() in scales):
        return f" {({'mil': 'mln'}).get(word.casefold(), word)} "  # in Czech; without a stop it is a thousand
    if last.isdigit():
        return f" {word}.\n"
    return stop[0]


def number_tokens(text: str) -> tuple[list[str], list[int]]:
    """Return the words, numbers, signs and ends of a folded text, and where the numbers are among them.

    Tokens are case-folded and have ASCII digits; three empty tokens follow. Numbers are the tokens that begin with a
    digit or with the mark of a telephone number. Takes linear time.
    """
    for sign, pattern, usual in _REWRITTEN:
        if sign in text:
            text = pattern.sub(usual, text)
    if not text.isascii() and _IDEOGRAPHS.search(text):
        text = with_digits(text)
    found = _TOKEN.findall(text.casefold())
    tokens = [*filter(None, map(_MARKS.get, found, found))]
    starts = [place for place, token in enumerate(tokens) if token < ":" and _IS_NUMBER(token)]
    return [*tokens, "", "", ""], starts  # so that the neighbours of every token can be looked at


def take_numbers(tokens: list[str], starts: list[int], language: str = "") -> list[tuple[int, int, str, str]]:
    """Find the numbers and overwrite them: "#" for a figure, "" for a date, time, year or phone number.

    ``language`` is that of the text, if it is known. ``starts`` are the tokens that begin with a digit; the last three
    tokens are empty, as ``number_tokens`` leaves them. Return for each figure its first token, the token behind it, its
    value, and its mark: "%", a currency, "." if punctuation closes it, or "".
    """
    numbers: list[tuple[int, int, str, str]] = []
    end = 0
    words = number_words(tokens, language)
    if words:
        starts = sorted([*starts, *compress(range(len(tokens)), map(words.__contains__, tokens))])
    for first in starts:
        if first < end:
            continue
        if language in _WITH_POINTS and _IS_POINTED(tokens[first]) and tokens[first + 1] in all_languages().scales:
            tokens[first] = tokens[first].replace(".", "")
        spelled = words.get(tokens[first])
        found = _in_words(tokens, first, spelled) if spelled else _in_digits(tokens, first)
        if found:
            value, end, mark = found
            if spelled and tokens[first] in spelled.scales:
                first, value = _with_fraction(numbers, tokens, first, value)
            numbers.append((first, end, value, mark))
            tokens[first:end] = [FIGURE, *[""] * (end - first - 1)]
    return numbers


def _with_fraction(
    numbers: list[tuple[int, int, str, str]], tokens: Sequence[str], first: int, value: str
) -> tuple[int, str]:
    """Return first token and value of a number and the fraction before it: "half a million", "3 quarters of a million".

    ``numbers`` are those before it. If the last one counts the fractions, such as the 3 above, it is taken off.
    """
    start = next((at for at in range(first - 1, max(-1, first - 4), -1) if tokens[at] in FRACTIONS), first)
    between = tokens[start + 1 : first]
    times = FRACTIONS.get(tokens[start], Decimal(1))
    is_of_number = times == Decimal("0.5") or not WORDS["of"].isdisjoint(between)  # not "in the last quarter a million"
    if start == first or not is_of_number or any(len(each) > 2 or not each.isalpha() for each in between):
        return first, value
    if numbers and numbers[-1][1] == start and numbers[-1][2].isdigit() and len(numbers[-1][2]) < 3:
        start, _, count, _ = numbers.pop()
        times *= Decimal(count)
    return start, format((times * Decimal(value)).normalize(), "f")


def _in_words(tokens: list[str], first: int, language: NumberWords) -> tuple[str, int, str] | None:
    """Return value, end and mark of a number in words; None if the word is no number here."""
    if tokens[first] in MONTHS and any(token[:1].isdigit() for token in tokens[first + 1 : first + 3]):
        return None  # "Sept. 11" is not French
    core, end = read_spelled(tokens, first, language)
    rest, behind = _rest(tokens, end, language.scales.get(tokens[end - 1], 0)) if core.isdigit() else (0, end)
    if rest:  # "dos mil 300"
        core = str(int(core) + rest)
        end = behind
    if not core or re.fullmatch(r"[0-9]{3,}\.[0-9]+", core):  # "সাড়ে তিনশ" is 350, and no 300.5
        return None
    return _scaled_and_marked(tokens, first, end, core, closed=False)


def _in_digits(tokens: list[str], first: int) -> tuple[str, int, str] | None:
    """Return value, end and mark of a number in digits. Overwrite a date, time, year or phone number; it is None."""
    token = tokens[first]
    closed = not token[-1].isdigit()
    core = token[:-1] if closed else token
    core = core.replace("⁄", "/").replace("−", "-")
    if _is_masked(tokens, first, core, token[-1]):
        tokens[first] = ""
        return None
    return _scaled_and_marked(tokens, first, first + 1, core, closed)


def _scaled_and_marked(tokens: list[str], first: int, end: int, core: str, closed: bool) -> tuple[str, int, str]:
    """Return value, end and mark of a number with the words behind it: "%", a currency, "." if it is closed, or ""."""
    scale = rest = 0
    if not closed:
        scale, end = _scale(tokens, first, end)
        if core.isdigit() and len(core) <= _MOST_DIGITS:
            rest, end = _rest(tokens, end, scale)
    mark, end = _mark(tokens, first, end, closed)
    if rest:
        return str(int(core) * scale + rest), end, mark
    return _value(core.replace(":", "-"), scale or 1, mark), end, mark


def _rest(tokens: list[str], end: int, scale: int) -> tuple[int, int]:
    """Return what the digits behind a thousand or a million add: "18 هزار و 32", "2 millones y medio"."""
    first = end + (tokens[end] == "و")
    if (behind := half_behind(tokens, end, scale, all_languages().scales)) > end:
        return scale // 2, behind
    if scale < 1000 or not tokens[first].isdigit() or _is_masked(tokens, first, tokens[first], tokens[first]):
        return 0, end
    times, behind = _scale(tokens, first, first + 1)
    rest = int(tokens[first][:_MOST_DIGITS]) * times
    return (rest, behind) if rest < scale else (0, end)


def _scale(tokens: list[str], first: int, end: int) -> tuple[int, int]:
    """Return what the words behind a number multiply it by: 10^9 for "mil millones". "12 mi" are miles."""
    scales = all_languages().scales
    scale = 1
    if tokens[end] == "mi" and tokens[end + 1] != "de" and tokens[first - 1] not in CURRENCIES:
        return scale, end
    if tokens[end] == "de" and tokens[end + 1] in scales:  # Romanian
        end += 1
    while (times := scales.get(tokens[end], 0)) and scale * times <= 10**15:
        scale *= times
        end += 1
    return scale, end


def _mark(tokens: list[str], first: int, end: int, closed: bool) -> tuple[str, int]:
    """Return the mark of a number, see ``take_numbers``, and the place behind it."""
    if not closed:
        token = tokens[end]
        if token in PERCENT:
            return "%", end + 1
        if (token, tokens[end + 1]) in PERCENT_PAIRS:
            return "%", end + 2
        if token in CURRENCIES and (token.isalpha() or not tokens[end + 1][:1].isdigit()):
            return CURRENCIES[token], end + 1
    before = tokens[first - 1]
    if before in WORDS["percent before"]:
        return "%", end
    return CURRENCIES.get(before, "." * closed), end


def _is_masked(tokens: list[str], first: int, core: str, closing: str) -> bool:
    if core.isdigit() and len(core) == 4:
        following = tokens[first + 1]
        is_counted = following in WORDS["counted"] or following in PERCENT or following in CURRENCIES
        counted = closing.isdigit() and (is_counted or following[:1] in COUNTED_CHARACTERS)
        is_year = _YEAR.fullmatch(core) is not None and not counted and tokens[first - 1] not in CURRENCIES
        return is_year or following in WORDS["time zones"]
    if not core.isdigit() and (core[0] in "+(" or _DATE_TIME_PHONE.fullmatch(core)):
        return True
    may_be_part = len(core) <= 2 or not core.isdigit()
    return may_be_part and (_is_clock(tokens, first, core) or _is_day(tokens, first, core, closing))


def _is_clock(tokens: list[str], first: int, core: str) -> bool:
    following = tokens[first + 1]
    if following == "am":
        return "und" not in tokens[max(0, first - 200) : first + 200]  # German "am Montag" is no time of day
    is_hour = following[:1] in ("時", "时", "点") and not following.startswith("時間") and core.isdigit()
    is_ago = following in WORDS["ago"] and tokens[first + 2] == "ago"
    is_noon = tokens[first + 1 : first + 4] in (["a", LINE_END, "m"], ["p", LINE_END, "m"])
    is_full = tokens[first + 1 : first + 3] == ["o", "clock"]
    return is_hour or is_ago or is_noon or is_full or following in WORDS["clock"]


def _is_day(tokens: list[str], first: int, core: str, closing: str) -> bool:
    """Return whether a month stands beside this number: in "12. November", but not in "in November, 12"."""
    if not _DAYS.fullmatch(core):
        return False
    before = tokens[first - 1]
    if before == "(" or (before == LINE_END and len(tokens[first - 2]) <= 4):
        before = tokens[first - 2]
    if before in MONTHS or (before in DAYS and closing == ")"):
        return True
    behind = first + 1
    while tokens[behind] in WORDS["behind days"]:
        behind += 1
    following = tokens[behind]
    if following in WORDS["between days"] and _DAYS.fullmatch(tokens[behind + 1]):
        following = tokens[behind + 2]  # "4 and 5 November"
    if following[:1] in ("月", "日", "월", "일"):
        return not following.startswith(("日間", "日间", "일간"))
    is_month = following in MONTHS and not (following == "may" and tokens[behind + 1] in WORDS["behind may"])
    return is_month and (closing.isdigit() or closing == ".")


def _value(core: str, scale: int, mark: str) -> str:
    """Return a written number as a plain decimal, times ``scale``. Parts of scores and ranges are read one by one."""

    if (part := re.fullmatch("(?:([0-9]{1,3}) )?([13])/([24])", core)) and (
        part[1] or (scale > 1 and part[2] == "1")
    ):  # "3/4 lakh" is 3 or 4 of them
        return format((scale * (int(part[1] or 0) + Decimal(part[2]) / Decimal(part[3]))).normalize(), "f")
    if " " in core and not _SPACED.fullmatch(core):
        core = core.replace(" ", "/")
    parts = re.split("([-/])", core)
    for place in range(0, len(parts), 2):
        number = _decimal(parts[place], mark == "%" or scale >= 10**6)
        if scale > 1 and number.count(".") <= 1:
            number = format((Decimal(number) * scale).normalize(), "f")
        parts[place] = number
    return "".join(parts)


def _decimal(number: str, fraction: bool) -> str:
    """Tell thousands separators from the decimal one; "1.786" is a fraction only before a percent sign."""
    whole, *groups = re.split("[.,' ]", number)
    separators = [character for character in number if not character.isdigit()]
    decimals = ""
    if len(set(separators)) > 1 and separators.count(separators[-1]) == 1:
        decimals = groups.pop()
    elif not _are_thousands(whole, groups) or (fraction and separators == ["."]):
        if len(groups) > 1:
            return ".".join(group.lstrip("0") or "0" for group in (whole, *groups))
        decimals = "".join(groups)
        groups = []
    whole = "".join((whole, *groups)).lstrip("0") or "0"
    decimals = decimals.rstrip("0")
    return f"{whole}.{decimals}" if decimals else whole


def _are_thousands(whole: str, groups: list[str]) -> bool:
    may_be = bool(groups) and whole[0] != "0" and len(whole) <= 3 and len(groups[-1]) == 3
    return may_be and {len(group) for group in groups[:-1]} in (set(), {2}, {3})  # two digits: lakh and crore
