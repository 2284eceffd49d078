"""Two spellings of a text that a reader cannot tell apart are copies, and a drop loses nothing."""

import re
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest

from scrapy_neardup.detector import NearDupDetector
from scrapy_neardup.text.misread import repaired

TEXTS = dict(
    re.findall(r"^\[(\w+)\]\n([^\[]*)", Path(__file__).with_name("spellings.txt").read_text("utf-8"), re.MULTILINE)
)
Change = Callable[[str], str]


def letters(before: str, after: str) -> Change:
    return lambda text: text.translate(str.maketrans(before, after))


def words(before: str, after: str | Callable[[re.Match[str]], str]) -> Change:
    return lambda text: re.sub(before, after, text)


def form(name: str) -> Change:
    return lambda text: unicodedata.normalize(name, text)  # type: ignore[arg-type]


def digits(zero: str) -> Change:
    return letters("0123456789٠١٢٣٤٥٦٧٨٩۰۱۲۳۴۵۶۷۸۹", "".join(chr(ord(zero) + digit) for digit in range(10)) * 3)


def full_width(text: str) -> str:
    return "".join(chr(ord(each) + 0xFEE0) if "!" <= each <= "~" else each for each in text)


def together(*changes: Change) -> Change:
    def changed(text: str) -> str:
        for change in changes:
            text = change(text)
        return text

    return changed


def misread(text: str) -> str:
    return "".join(bytes([byte]).decode("cp1252", "ignore") or chr(byte) for byte in text.encode())


SOFT_HYPHENS = words(r"(\w{4})(?=\w{3})", "\\1\u00ad")
TONES = {"oà": "òa", "uỷ": "ủy", "oá": "óa"}
HALF_WIDTH = dict(zip("ガソリンスタド", "ｶﾞ ｿ ﾘ ﾝ ｽ ﾀ ﾄﾞ".split(), strict=True))
SPELLINGS: dict[str, tuple[str, Change]] = {
    "cedillas": ("Romanian", letters("șțȘȚ", "şţŞŢ")),
    "no Romanian accents": ("Romanian", words("[ăâîșț]", lambda found: unicodedata.normalize("NFD", found[0])[0])),
    "UTF-8 read as cp1252": ("Romanian", misread),
    "ё": ("Russian", letters("ёЁ", "еЕ")),
    "stress marks": ("Russian", words("(?<=[аеиоу])(?=[а-я]{3})", "\u0301")),
    "Ukrainian apostrophes": ("Ukrainian", letters("'", "’")),
    "tatweel": ("Arabic", words("(?<=[سشصضطظعغفقكلمنهي])(?=[سشصضطظعغفقكلمنهي])", "ـ")),
    "harakat": ("Arabic", words("([بتثجحخدذرزسشصضطظعغفقكلمنه])(?=[بتثجحخدذرزسشصضطظعغفقكلمنه])", "\\1\u064e")),
    "alef": ("Arabic", letters("أإآ", "ااا")),
    "final yeh": ("Arabic", words("ي\\b", "ى")),
    "Arabic digits": ("Arabic", digits("٠")),
    "presentation forms": ("Arabic", words("لا", "\ufefb")),
    "Arabic yeh and kaf": ("Persian", letters("یک", "يك")),
    "no joiners": ("Persian", letters("\u200c", "\u2060")),
    "Arabic letters in Urdu": ("Urdu", letters("یکہ", "يكه")),
    "Kurdish heh": ("Kurdish", words("ە", "ه\u200c")),
    "Kurdish yeh and kaf": ("Kurdish", letters("یک", "يك")),
    "niqqud": ("Hebrew", words("([בהשמ])(?=[א-ת])", "\\1\u05b7")),
    "maqaf and gershayim": ("Hebrew", letters("-\"", "־״")),
    "nukta": ("Hindi", words("[\u093c]", "")),
    "composed nukta": ("Hindi", words("ड\u093c", "\u095c")),
    "Hindi joiners": ("Hindi", words("\u094d(?=[क-ह])", "\u094d\u200d")),
    "khanda ta": ("Bengali", words("ৎ", "ত্\u200d")),
    "Tamil in parts": ("Tamil", form("NFD")),
    "Turkish in capitals": ("Turkish", lambda text: text.replace("i", "İ").upper()),
    "dotless i": ("Turkish", letters("ıİ", "iI")),
    "Uzbek letters": ("Uzbek", letters("'", "ʻ")),
    "tones on the other vowel": ("Vietnamese", words("oà|uỷ|oá", lambda found: TONES[found[0]])),
    "Vietnamese in parts": ("Vietnamese", form("NFD")),
    "no tonos": ("Greek", words("[ά-ώ]", lambda found: unicodedata.normalize("NFD", found[0])[0])),
    "oxia": ("Greek", letters("άέήίόύώ", "\u1f71\u1f73\u1f75\u1f77\u1f79\u1f7b\u1f7d")),
    "Armenian ligature": ("Armenian", words("և", "եւ")),
    "Thai vowel in parts": ("Thai", words("([\u0e48-\u0e4b]?)ำ", "\u0e4d\\1า")),
    "Thai vowel twice": ("Thai", words("แ", "เเ")),
    "Thai spaces of no width": ("Thai", words("(?<=[ก-ฮ])(?=[เแโ])", "\u200b")),
    "Hangul in parts": ("Korean", form("NFD")),
    "half width": ("Japanese", together(form("NFKC"), words("[ガソリンスタド]", lambda found: HALF_WIDTH[found[0]]))),
    "ligatures of French": ("French", words("œ", "oe")),
    "ligatures": ("English", together(words("ffi", "ﬃ"), words("fi", "ﬁ"), words("fl", "ﬂ"), words("ff", "ﬀ"))),
    "full width": ("English", full_width),
    "quotes": ("English", together(words('"(?=I)', "“"), letters("\"'", "”’"))),
    "dashes": ("English", together(words(" - ", "—"), words(r"(?<=\w)-(?=\w)", "‑"))),
    "soft hyphens": ("English", SOFT_HYPHENS),
    "marks of the reading direction": ("Hebrew", words(" (?=ו)", "\u200f \u200e")),
    "no-break spaces": ("English", letters(" ", "\u00a0")),
    "byte order mark": ("English", lambda text: f"\ufeff{text}".replace("bridge", "bri\ufeffdge")),
    "Khmer signs in parts": ("Khmer", together(words("ោ", "\u17c1\u17b6"), words("ើ", "\u17c1\u17b8"))),
    "Khmer spaces of no width": ("Khmer", words("(?<=[ក-អ])(?=[ក-អ])", "\u200b")),
}  # fmt: skip


@pytest.mark.parametrize(("language", "change"), SPELLINGS.values(), ids=[*SPELLINGS])
async def test_a_text_in_another_spelling_is_a_copy(detector: NearDupDetector, language: str, change: Change) -> None:
    title, text = TEXTS[language].strip().split("\n", 1)
    assert change(text) != text
    one = detector.document(text, url="https://one.example/bridge", title=title)
    other = detector.document(change(text), url="https://other.example/p/7", title=change(title))
    assert (await detector.check(one)).status == "original"
    verdict = await detector.check(other)
    assert (verdict.status, verdict.would_drop, verdict.changes) == ("duplicate", True, ())
    assert other.language == one.language


@pytest.mark.parametrize(
    "name", ["NESTLÉ® and NESTLÉ®", "ROSÉ’s songs, ROSÉ’s", "Strauß’ und Voß’", "Café « À la carte »"]
)
def test_a_name_that_could_be_misread_is_not_repaired(name: str) -> None:
    assert repaired(name) == name
    assert repaired(misread(f"{name} Zoë Malmö")) == f"{name} Zoë Malmö"
