"""Text -> the words, numbers, currency signs and line ends that figures are read from.

Chinese and Japanese numerals that count something become digits first: "四人" -> "4人", "千二百" -> "1200".
"""

from __future__ import annotations

import re
from decimal import Decimal

LINE_END = "|"
"""The token at the end of a line."""
_MARGIN = ("", "", "")  # so that the neighbours of every token can be looked at, also before the first

_NUMERALS = dict(zip("〇零一二两兩三四五六七八九", (0, 0, 1, 2, 2, 2, 3, 4, 5, 6, 7, 8, 9), strict=True))
_UNITS = {"十": 10, "百": 100, "千": 1000}
_MYRIADS = {"万": 10**4, "萬": 10**4, "億": 10**8, "亿": 10**8, "兆": 10**12}

_IDEOGRAPHS = "〇零二两兩三四五六七八九十百千万萬億亿兆"
"""All numerals but "一", which is just an article unless another numeral is beside it."""

_COUNTERS = frozenset(
    "人名位口女男児个個箇ヶケかカヵつ歳岁歲才头頭匹隻只羽条條棵株枝支根颗顆粒片枚张張块塊把座栋棟幢间間軒戸户戶家店"
    "社校院所处處処门門层層階楼樓套件双雙对對副本冊册卷巻页頁篇章编編节節段句行字封份幅首部集曲話作品场場台臺架辆輛"
    "両艘机機列班趟便次回遍番度阵陣顿頓餐碗盘盤杯瓶罐桶箱袋包盒斤克吨噸升米尺寸里亩畝公英海平分秒刻点點小時时天日泊"
    "晚夜周週月年元円圓圆美欧歐港成折割倍级級等种種类類样樣项項款批组組队隊排起桩樁笔筆届屆局球票席议議試试打安得失"
    "死伤傷胜勝负負敗连連枪槍股市县縣県区區町村省党黨キメセトドユパポ床室基体體発發題问問面束串捆团団宗尊则則道声聲"
    "顶頂桌学學孩童车車船镇鎮乡鄉城都郡路候企選选遺遗兄弟姐姊妹施案員员着服膳皿滴畳帖語駅館馆園园審审合戦战勤夫妻匙"
    "档槽幕版俵坪丁通艇管射刷客脚筋族世帯余餘多数數来來"
)
"""First characters of words after a numeral that counts. 国, 州, 角 and 重 are left out, because names have them."""

_ORDINALS = frozenset("第周期拜曜初")
"""Characters before an ordinal number or a day of the week."""

_RUN = re.compile(f"[0-9一{_IDEOGRAPHS}](?:[0-9一{_IDEOGRAPHS}]|[.,](?=[0-9]))*")
_NUMERAL_PART = re.compile("[0-9.,]+|.")
_NO_COUNT = re.compile("本木|分(?![之の鐘钟間间])")  # Roppongi; "十分" is "enough"
_LARGE = frozenset("百千") | _MYRIADS.keys()  # 百万 is a number, and in 千万不要 it is "by all means"
_NEVER_ALONE = frozenset("〇零一") | _MYRIADS.keys()
_FRACTIONS = ("分之", "分の")

_ZEROS = "٠۰߀०০੦૦୦௦౦೦൦෦๐໐༠၀០᠐０"
_USUAL = str.maketrans(
    {chr(ord(zero) + i): str(i) for zero in _ZEROS for i in range(10)}
    | {"٫": ".", "٬": ",", "½": ".5", "¼": ".25", "¾": ".75", "％": "%", "，": ",", "．": "."}
)
_UNUSUAL = re.compile(f"[½¼¾％{_IDEOGRAPHS}" + "".join(f"{zero}-{chr(ord(zero) + 9)}" for zero in _ZEROS) + "]")

# Numbers with nothing but spaces between them are one token, whether they make one number ("1 200") or not ("73 99"):
# else an edit from one kind to the other would change how many figures there are.
_PART = r"(?!(?:19|20)[0-9]{2}(?![0-9]))[0-9]+(?:[.,][0-9]+)*"
# A punctuation mark behind a number is kept with it: the number does not count the word after the mark.
_NUMBER = re.compile(
    rf"{_PART}(?:[ \u00a0\u2009\u202f]{_PART})+(?![.,:/'’⁄‐‑–−-]?[0-9])[.,;:)!?]?"
    r"|[0-9]{1,2}h[0-9]{2}(?![0-9a-z])"
    r"|[0-9]+(?:[.,:/'’⁄‐‑–−-][0-9]+)*[.,;:)!?]?"
    r"|[$€£¥₹₽₩₺%]"
    r"|\+[0-9]{1,3}(?:[ -]\(?[0-9]{1,4}\)?){3,6}|\+[0-9]{8,15}|\([0-9]{3}\) ?[0-9]{3}-[0-9]{4}"
    r"|[.,;(](?=\s?[0-9])"
)
_SIGN = re.compile("[0-9$€£¥₹₽₩₺%]")
# A plain class, not \w: \w ends words at the vowel signs of Indic scripts and Thai.
_WORD_OR_MARK = re.compile(r"[a-zªµºÀ-\u1fff\u2c00-\u2fff\u3005-\U0010ffff]+|[0|]")
_LATIN_LETTERS = bytes(
    ord(each) if each == "\n" or (each != LINE_END and _WORD_OR_MARK.match(each)) else ord(" ")
    for each in map(chr, range(256))
)
_PUNCTUATION = "\u2019\u201c\u201d\u2018\u2013\u2014\u2026\u2022"  # the commonest that is not in Latin-1
_BEFORE_PATH = "://", ".com/", ".org/", ".net/"
_ADDRESS = re.compile(r"(?:https?://|www\.|\.(?:com|org|net)/)\S+")


def number_tokens(text: str) -> tuple[list[str], list[int]]:
    """Return the words, numbers, currency signs and line ends of a text, and where the numbers are among them.

    Tokens are case-folded and have ASCII digits; three empty tokens follow. Numbers are the tokens that begin with a
    digit or with the "+" of a telephone number. Takes linear time.
    """
    numbers, between = _split(_plain(text))
    # Replace each number by "0". No other digit is left, so all words are found in one search.
    tokens = _words(" 0 ".join(between))
    starts, place = [], -1
    for number in numbers:
        place = tokens.index("0", place + 1)
        tokens[place] = number
        if number[0] in "0123456789+":
            starts.append(place)
    tokens += _MARGIN
    return tokens, starts


def _words(text: str) -> list[str]:
    if not text.isascii():
        for character in _PUNCTUATION:
            text = text.replace(character, " ")
    try:
        latin = text.encode("latin-1")
    except UnicodeEncodeError:
        return _WORD_OR_MARK.findall(text.replace(LINE_END, " ").replace("\n", LINE_END))
    return latin.translate(_LATIN_LETTERS).decode("latin-1").replace("\n", f" {LINE_END} ").split()


def _split(text: str) -> tuple[list[str], list[str]]:
    """Return the numbers and signs of a text, and the text between them.

    One search for a digit or sign passes over most characters.
    """
    numbers: list[str] = []
    between: list[str] = []
    end = 0
    while sign := _SIGN.search(text, end):
        first = sign.start()
        found = _NUMBER.match(text, _opening(text, first, end)) or _NUMBER.match(text, first)
        if found is None:  # never: a digit or sign is matched by itself
            break
        between.append(text[end : found.start()])
        numbers.append(found[0])
        end = found.end()
    between.append(text[end:])
    return numbers, between


def _opening(text: str, first: int, end: int) -> int:
    """Return where a token with this digit may begin: at punctuation before it, but not before ``end``."""
    if first > end and "0" <= text[first] <= "9":
        if text[first - 1] in ".,;(+":
            return first - 1
        if first - 1 > end and text[first - 1].isspace() and text[first - 2] in ".,;(":
            return first - 2
    return first


def _plain(text: str) -> str:
    if "я" in text:  # the apostrophe inside Ukrainian words: "п'ять"
        text = text.replace("'я", "ʼя").replace("’я", "ʼя")
    # Do not use NFKC here: it takes as long as finding the tokens, and numbers need only the replacements below.
    if not text.isascii() and _UNUSUAL.search(text):
        text = _RUN.sub(_numeral_with_digits, text.translate(_USUAL))
    if "www." in text or ("/" in text and any(map(text.__contains__, _BEFORE_PATH))):
        text = _ADDRESS.sub(" ", text)
    return text.casefold()


# Chinese and Japanese numerals


def _numeral_with_digits(run: re.Match[str]) -> str:
    """Return digits in place of a numeral that counts something.

    Numerals in names and idioms stay as they are: 千葉, 九州, 一起.
    """
    numeral = run[0]
    return numeral if numeral.isascii() or not _counts(numeral, run) else _number(numeral) or numeral


def _counts(numeral: str, run: re.Match[str]) -> bool:
    text, first, end = run.string, run.start(), run.end()
    if first and text[first - 1] in _ORDINALS:
        return False
    if text.startswith(_FRACTIONS, end) or (first > 1 and text.startswith(_FRACTIONS, first - 2)):
        return True
    if len(numeral) > 1 and not set(numeral) <= _LARGE:
        return True
    if numeral in _NEVER_ALONE or (numeral in "六十" and _NO_COUNT.match(text, end)):
        return False
    return text[end : end + 1] in _COUNTERS


def _number(numeral: str) -> str:
    """Return the number in ASCII digits, or "" if the characters are no number: "一一", "万一"."""
    if _NUMERALS.keys() >= set(numeral):  # 二〇一九
        is_number = len(numeral) != 2 or numeral[1] in "〇零"
        return "".join(str(_NUMERALS[character]) for character in numeral) if is_number else ""
    total, section, number = Decimal(0), Decimal(0), None
    unit_before, myriad_before = 10**4, 10**16
    for part in _NUMERAL_PART.findall(numeral):
        if _UNITS.get(part, unit_before) < unit_before:
            unit_before = _UNITS[part]
            section, number = section + (1 if number is None else number) * unit_before, None
        elif _MYRIADS.get(part, myriad_before) < myriad_before and (section or number):
            unit_before, myriad_before = 10**4, _MYRIADS[part]
            total, section, number = total + (section + (number or 0)) * myriad_before, Decimal(0), None
        elif number is not None or part in _LARGE or part.count(".") > 1:
            return ""
        elif part not in "〇零":
            number = Decimal(_NUMERALS.get(part) or part.replace(",", ""))
    return format((total + section + (number or 0)).normalize(), "f")
