"""Write the words of CLDR that stand beside numbers into ``scrapy_neardup/evidence/figures/cldr.json``.

The table is a file of the package, and not read from ``babel`` in a crawl: two workers with two versions of CLDR would
make different fingerprints of one text. Run this script with a new version of ``babel``, and read the difference.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

from babel import Locale
from babel.localedata import locale_identifiers

TABLE = Path(__file__).parents[1] / "scrapy_neardup" / "evidence" / "figures" / "cldr.json"
# Of these languages months, weekdays and units are taken. Scale words are taken of all.
LANGUAGES = (
    "en de es fr it pt nl ru uk be pl cs sk hu ro bg sr hr bs sl mk el tr az ar fa ur he hi bn ta te ml mr gu kn pa ne"
    " si id ms vi th ja zh ko sv da nb fi et lv lt is ca gl eu sq hy ka kk ky uz sw am af my km lo fil"
).split()
UNITS = {
    **{f"duration-{unit}": f"{unit}s" for unit in "second minute hour day week month year".split()},
    "length-meter": "metres", "length-kilometer": "km", "length-mile": "miles", "length-foot": "feet",
    "mass-kilogram": "kg", "mass-tonne": "tonnes", "area-hectare": "hectares", "area-acre": "acres",
    "temperature-generic": "degrees", "volume-liter": "litres",
    "concentr-percent": "%", "proportion-percent": "%",
}  # fmt: skip
# Words that mean something else in a language that is read more often.
NO_SCALES = set(
    "ti th el en de ha min mile milers kun libo lak bill bio kr mm mr ma km kt td cr ko nt mano ming hoz kuma puku के ми"
    " бил пин сая खरब".split()
)
SCALES = {"bn": 10**9, "bi": 10**9, "tn": 10**12, "mil": 1000, "mia": 10**9}  # as most newspapers use them
SCALES |= {"करोड": 10**7, "லட்சம்": 10**5, "கோடி": 10**7}
NO_MONTHS = {"may", "mars", "set", "out", "mac", "mei", "nisan", "mart", "ekim", "luty", "machi", "march"}
NO_UNITS = {
    "time",
    "let",
    "sat",
    "second",
    "an",
    "on",
    "men",
    "hold",
    "don",
    "pe",
    "ura",
    "zi",
    "oras",
    "mil",
    "mila",
    "batu",
}


def patterns(data: object) -> Iterator[str]:
    if isinstance(data, str):
        yield data
    elif hasattr(data, "pattern"):
        yield data.pattern
    elif hasattr(data, "values"):
        for each in data.values():
            yield from patterns(each)


def words(pattern: str) -> list[str]:
    """Return the words of a pattern, without its digits, quotes and signs."""
    return re.findall(r"(?:[^\W\d_]|[\u0300-\u036f\u0900-\u0dff\u0e00-\u0eff\u1000-\u109f\u200c])+", pattern.casefold())


def scale_words() -> dict[str, int]:
    """Return the words that multiply a number: the value that most languages give them."""
    votes: dict[str, Counter[int]] = defaultdict(Counter)
    for name in locale_identifiers():
        formats, is_read = Locale.parse(name).compact_decimal_formats, name in LANGUAGES
        for forms in formats.values() if is_read else [formats["long"]]:
            for numbers in forms.values():
                for number, pattern in numbers.items():
                    text = pattern.pattern.split(";")[0]
                    found = [word for word in words(text) if word not in NO_SCALES]
                    zeros = text.count("0")
                    if len(found) == 1 and len(found[0]) > (1 if is_read else 3) and zeros:
                        votes[found[0]][10 ** (len(str(number)) - zeros)] += 1
    return {word: values.most_common(1)[0][0] for word, values in votes.items() if len(word) > 1} | SCALES


def month_words() -> set[str]:
    found = set()
    for name in LANGUAGES:
        months = Locale.parse(name).months
        forms = (months[form]["wide"] for form in ("format", "stand-alone"))
        found |= {found[0] for form in forms for text in form.values() if len(found := words(text)) == 1}
    return {word for word in found if len(word) > 2} - NO_MONTHS


def weekday_words() -> set[str]:
    found = set()
    for name in LANGUAGES:
        for text in Locale.parse(name).days["format"]["wide"].values():
            found |= {word for word in words(text) if len(word) > 4}
    return found


def unit_words() -> dict[str, str]:
    """Return the words behind a number of units, each with the English name of the unit."""
    found: dict[str, str] = {}
    for name in LANGUAGES:
        units = Locale.parse(name)._data["unit_patterns"]
        for unit, told in UNITS.items():
            for pattern in patterns(dict(units.get(unit, {})).get("long", {})):
                behind = words(pattern.partition("{0}")[2])
                most = 2 if told == "%" else 1
                if "{0}" in pattern and 0 < len(behind) <= most and len(behind[0]) > 1 and behind[0] not in NO_UNITS:
                    found.setdefault(" ".join(behind), told)
    return found


if __name__ == "__main__":
    tables = {
        "scales": scale_words(),
        "months": " ".join(sorted(month_words())),
        "weekdays": " ".join(sorted(weekday_words())),
        "units": unit_words(),
    }
    by_value = defaultdict(list)
    for word, value in sorted(tables["scales"].items()):
        by_value[value].append(word)
    by_unit = defaultdict(list)
    for word, unit in sorted(tables["units"].items()):
        by_unit[unit].append(word)
    tables["scales"] = {str(value): "|".join(found) for value, found in sorted(by_value.items())}
    tables["units"] = {unit: "|".join(found) for unit, found in by_unit.items()}
    TABLE.write_text(json.dumps(tables, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
