"""Write Chinese and Japanese numerals that count something as digits: "四人" -> "4人", "千二百" -> "1200"."""

from __future__ import annotations

import re
from decimal import Decimal

_DIGITS = dict(zip("〇零一二两兩三四五六七八九", (0, 0, 1, 2, 2, 2, 3, 4, 5, 6, 7, 8, 9), strict=True))
_UNITS = {"十": 10, "百": 100, "千": 1000}
_MYRIADS = {"万": 10**4, "萬": 10**4, "億": 10**8, "亿": 10**8, "兆": 10**12}

IDEOGRAPHS = "〇零二两兩三四五六七八九十百千万萬億亿兆"
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

_RUN = re.compile(f"[0-9一{IDEOGRAPHS}](?:[0-9一{IDEOGRAPHS}]|[.,](?=[0-9]))*")
_PART = re.compile("[0-9.,]+|.")
_NO_COUNT = re.compile("本木|分(?![之の鐘钟間间])")  # Roppongi; "十分" is "enough"
_LARGE = frozenset("百千") | _MYRIADS.keys()  # 百万 is a number, and in 千万不要 it is "by all means"
_NEVER_ALONE = frozenset("〇零一") | _MYRIADS.keys()
_FRACTIONS = ("分之", "分の")


def with_digits(text: str) -> str:
    """Return the text with digits in place of numerals that count something, in linear time.

    Numerals in names and idioms stay as they are: 千葉, 九州, 一起.
    """
    return _RUN.sub(_with_digits, text)


def _with_digits(run: re.Match[str]) -> str:
    numeral = run[0]
    return numeral if numeral.isascii() or not _counts(numeral, run) else _value(numeral) or numeral


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


def _value(numeral: str) -> str:
    """Return the number in ASCII digits, or "" if the characters are no number: "一一", "万一"."""
    if _DIGITS.keys() >= set(numeral):  # 二〇一九
        is_number = len(numeral) != 2 or numeral[1] in "〇零"
        return "".join(str(_DIGITS[character]) for character in numeral) if is_number else ""
    total, section, number = Decimal(0), Decimal(0), None
    unit_before, myriad_before = 10**4, 10**16
    for part in _PART.findall(numeral):
        if _UNITS.get(part, unit_before) < unit_before:
            unit_before = _UNITS[part]
            section, number = section + (1 if number is None else number) * unit_before, None
        elif _MYRIADS.get(part, myriad_before) < myriad_before and (section or number):
            unit_before, myriad_before = 10**4, _MYRIADS[part]
            total, section, number = total + (section + (number or 0)) * myriad_before, Decimal(0), None
        elif number is not None or part in _LARGE or part.count(".") > 1:
            return ""
        elif part not in "〇零":
            number = Decimal(_DIGITS.get(part) or part.replace(",", ""))
    return format((total + section + (number or 0)).normalize(), "f")
