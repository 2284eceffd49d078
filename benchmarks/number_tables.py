"""Write the number words of each language to ``scrapy_neardup/evidence/number_words.json``.

    pip install num2words
    python benchmarks/number_tables.py

The table is kept in a file and not made at run time: importing num2words takes longer than reading a hundred articles,
and two workers with different versions of num2words would find different figures in the same text.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping
from itertools import product
from pathlib import Path

from num2words import num2words

OUTPUT = Path(__file__).parent.parent / "scrapy_neardup" / "evidence" / "number_words.json"
_WORD = re.compile(r"[^\W\d_]+")

_RUSSIAN_FORMS = [{"case": case, "gender": gender} for case, gender in product("ngdaip", "mfnp")]
_UKRAINIAN_CASES = "nominative genitive dative accusative instrumental locative".split()
_UKRAINIAN_FORMS = [{"case": case, "gender": gender} for case, gender in product(_UKRAINIAN_CASES, ("", "feminine"))]
_VARIANTS: dict[str, list[dict[str, str]]] = {
    "en": [{"lang": "en"}],
    "de": [{"lang": "de"}],
    "es": [{"lang": "es"}],
    "fr": [{"lang": "fr"}, {"lang": "fr_BE"}, {"lang": "fr_CH"}],
    "it": [{"lang": "it"}],
    "pt": [{"lang": "pt"}, {"lang": "pt_BR"}],
    "nl": [{"lang": "nl"}],
    "ru": [{"lang": "ru", **form} for form in _RUSSIAN_FORMS],
    "uk": [{"lang": "uk", **form} for form in _UKRAINIAN_FORMS],
}
_FUSED = {"de": "ein", "it": "", "nl": ""}
"""Languages that write a number below a thousand as one word, and the "one" that may be left out before a hundred."""

_WITHOUT_ARTICLES = ("ru", "uk")
"""Languages in which "million" alone is one million."""

_ARTICLES = {
    "en": "a an",
    "de": "ein eine einen einem einer",
    "es": "un una uno",
    "fr": "un une",
    "it": "un una uno",
    "pt": "um uma",
    "nl": "een",
    "ru": "",
    "uk": "",
}
_AND = {"en": "and", "es": "y", "fr": "et", "pt": "e"}

_MORE_SMALL: dict[str, dict[str, float]] = {  # what num2words does not know
    "en": {"one": 1},
    "de": {
        "anderthalb": 1.5,
        **{f"{unit}einhalb": n + 0.5 for n, unit in enumerate("ein zwei drei vier fünf sechs".split(), 1)},
        "zwo": 2,
        **{f"{unit}hundert": 100 * n for n, unit in enumerate("elf zwölf".split(), 11)},
    },
    "es": {"veintiún": 21, "veintiuna": 21, "ciento": 100},
    "pt": {"duas": 2, "cento": 100, "quatorze": 14},
    "nl": {"anderhalf": 1.5},
    "ru": {
        **dict.fromkeys("полтора полторы полутора".split(), 1.5),
        **{
            stem + ending: n
            for n, stem in enumerate("пятер шестер семер восьмер девятер десятер".split(), 5)
            for ending in ("о", "ых", "ым", "ыми")
        },
    },
    "uk": {
        **dict.fromkeys("півтора півтори".split(), 1.5),
        "двоє": 2,
        "троє": 3,
        **{f"{stem}ох": n for n, stem in enumerate("пʼять шість сім вісьм девʼять десять".split(), 5)},
        **{f"{stem}еро": n for n, stem in enumerate("четв пʼят шест сем восьм девʼят десят".split(), 4)},
    },
}
_MORE_SCALES: dict[str, dict[str, int]] = {
    "en": {"dozen": 12, "millions": 10**6},
    "de": {"dutzend": 12},
    "es": {"docena": 12, "decena": 10},
    "fr": {
        "dizaine": 10,
        "douzaine": 12,
        "quinzaine": 15,
        "vingtaine": 20,
        "trentaine": 30,
        "cinquantaine": 50,
        "soixantaine": 60,
        "centaine": 100,
        "cent": 100,
        "vingt": 20,  # quatre-vingt-deux
        "vingts": 20,
    },
    "it": {"decina": 10, "dozzina": 12, "centinaio": 100},
    "pt": {"dezena": 10, "dúzia": 12},
    "nl": {"dozijn": 12},
    "ru": {},
    "uk": {},
}


def _words(number: int, variant: dict[str, str]) -> list[str]:
    return _WORD.findall(num2words(number, **variant).casefold().replace("'я", "ʼя"))


def number_words(language: str) -> dict[str, object]:
    """The words of one language, as ``scrapy_neardup.evidence.spelled_numbers`` reads them."""
    small: dict[str, float] = {}
    scales: dict[str, int] = {}
    ones: set[str] = set()
    fused = language in _FUSED
    for variant in _VARIANTS[language]:
        ones.update(_words(1, variant))
        for number in range(1000) if fused else (*range(100), *range(100, 1000, 100)):
            _add_small(small, number, variant)
        _add_small(small, 1000, variant)
        for scale, many in product((100, 10**3, 10**6, 10**9, 10**12), (1, 2, 5)):
            words = _words(many * scale, variant)
            if len(words) > 1:
                scales.setdefault(words[-1], scale)
                if many == 1 and language in _WITHOUT_ARTICLES and variant["case"][0] in "na":
                    small.setdefault(words[-1], scale)
            elif fused and many == 2:
                scales.setdefault(words[0].removeprefix(_words(2, variant)[0]), scale)
    for one in ones:
        small.pop(one, None)
    if fused:
        for word, number in list(small.items()):
            if 100 <= number < 200 or number == 1000:
                small.setdefault(word.removeprefix(_FUSED[language]), number)
    if language == "it":  # trent'anni
        small |= {word[:-1]: n for word, n in small.items() if 20 <= n < 100 and n % 10 in (0, 1)}
    if language in ("es", "pt"):  # doscientas
        small |= {f"{word[:-2]}as": n for word, n in small.items() if 200 <= n < 1000}
    small |= _MORE_SMALL.get(language, {})
    scales |= _MORE_SCALES[language]
    return {
        "small": _with_plain_letters(small),
        "scales": _with_plain_letters(scales),
        "articles": sorted(ones | set(_ARTICLES[language].split())),
        # "two hundred a year": where the ones are fused or told from articles, they are small numbers already.
        "ones": [] if fused or language == "en" else sorted(ones | set(_ARTICLES[language].split())),
        "conjunction": _AND.get(language, ""),
        "thousand": next(iter(word for word, scale in scales.items() if scale == 1000)) if fused else "",
    }


def _add_small(small: dict[str, float], number: int, variant: dict[str, str]) -> None:
    words = _words(number, variant)
    if len(words) == 1 and words[0] not in small:
        small[words[0]] = number


def _with_plain_letters(numbers: Mapping[str, float]) -> dict[str, float]:
    """With what people write who have no accents, and with "е" for "ё"."""
    plain = {_plain(word): number for word, number in numbers.items()}
    return dict(sorted((plain | numbers).items(), key=lambda item: (item[1], item[0])))


def _plain(word: str) -> str:
    letters = unicodedata.normalize("NFD", word.replace("й", "\0"))
    return "".join(c for c in letters if not unicodedata.combining(c)).replace("\0", "й")


if __name__ == "__main__":
    tables = {language: number_words(language) for language in _VARIANTS}
    lines = (f'"{language}": {json.dumps(table, ensure_ascii=False)}' for language, table in tables.items())
    OUTPUT.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
