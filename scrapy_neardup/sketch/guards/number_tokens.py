"""Text -> the words, numbers, currency signs and line ends that figures are read from."""

from __future__ import annotations

import re

from scrapy_neardup.sketch.guards.ideographic_numbers import IDEOGRAPHS, with_digits

LINE_END = "|"
"""The token at the end of a line."""
_MARGIN = ("", "", "")  # so that the neighbours of every token can be looked at, also before the first

_ZEROS = "٠۰߀०০੦૦୦௦౦೦൦෦๐໐༠၀០᠐０"
_USUAL = str.maketrans(
    {chr(ord(zero) + i): str(i) for zero in _ZEROS for i in range(10)}
    | {"٫": ".", "٬": ",", "½": ".5", "¼": ".25", "¾": ".75", "％": "%", "，": ",", "．": "."}
)
_UNUSUAL = re.compile(f"[½¼¾％{IDEOGRAPHS}" + "".join(f"{zero}-{chr(ord(zero) + 9)}" for zero in _ZEROS) + "]")

# Numbers with nothing but spaces between them are one token, whether they make one number ("1 200") or not ("73 99"):
# else an edit from one kind to the other would change how many figures there are.
_PART = r"(?!(?:19|20)[0-9]{2}(?![0-9]))[0-9]+(?:[.,][0-9]+)*"
# A mark behind a number is kept with it: what follows such a mark is not what is counted.
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
_ASCII_LETTERS = {code: chr(code) if "a" <= chr(code) <= "z" or chr(code) in "0\n" else " " for code in range(128)}
_PUNCTUATION = "\u2019\u201c\u201d\u2018\u2013\u2014\u2026\u2022\u00a0\u00ab\u00bb"
_ADDRESS = re.compile(r"(?:https?://|www\.|\.(?:com|org|net)/)\S+")


def number_tokens(text: str) -> tuple[list[str], list[int]]:
    """Return the words, numbers, currency signs and line ends of a text, and where the numbers are among them.

    Tokens are case-folded and have ASCII digits; three empty tokens follow. Numbers are the tokens that begin with a
    digit or with the "+" of a telephone number. Takes linear time.
    """
    plain = _plain(text)
    spans = _numbers(plain)
    # No digit is left between the numbers: "0" holds the place of each. So all words are found in one go.
    between, end = [], 0
    for first, behind in spans:
        between.append(plain[end:first])
        end = behind
    tokens = _words(" 0 ".join([*between, plain[end:]]))
    starts, place = [], -1
    for first, behind in spans:
        place = tokens.index("0", place + 1)
        tokens[place] = plain[first:behind]
        if plain[first] in "0123456789+":
            starts.append(place)
    tokens += _MARGIN
    return tokens, starts


def _words(text: str) -> list[str]:
    text = _without_punctuation(text)
    if text.isascii():
        return text.translate(_ASCII_LETTERS).replace("\n", f" {LINE_END} ").split()
    return _WORD_OR_MARK.findall(text.replace(LINE_END, " ").replace("\n", LINE_END))


def _without_punctuation(text: str) -> str:
    """Replace common punctuation outside ASCII by spaces: most English texts are ASCII then."""
    if not text.isascii():
        for character in _PUNCTUATION:
            text = text.replace(character, " ")
    return text


def _numbers(text: str) -> list[tuple[int, int]]:
    """Return where numbers and signs begin and end. One search for a digit passes over most characters."""
    spans: list[tuple[int, int]] = []
    end = 0
    while sign := _SIGN.search(text, end):
        first = sign.start()
        found = _NUMBER.match(text, _opening(text, first, end)) or _NUMBER.match(text, first)
        if found is None:  # never: a digit or sign is matched by itself
            break
        end = found.end()
        spans.append(found.span())
    return spans


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
    # No NFKC here: it takes as long as finding the tokens, and only these of its changes matter to numbers.
    if not text.isascii() and _UNUSUAL.search(text):
        text = with_digits(text.translate(_USUAL))
    if "://" in text or "www." in text or ".com/" in text or ".org/" in text or ".net/" in text:
        text = _ADDRESS.sub(" ", text)
    return text.casefold()
