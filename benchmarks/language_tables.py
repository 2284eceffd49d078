"""Write the number words of languages into ``scrapy_neardup/evidence/figures/languages``, as CLDR spells them out.

Run this script with PyICU and num2words, and read the difference. The words are those that stand alone: what languages
write in several words ("two hundred and five") the crawl puts together. "One" is left out if it is the article too.
"""

from __future__ import annotations

import json
from pathlib import Path

import icu
from num2words import num2words

LANGUAGES = Path(__file__).parents[1] / "scrapy_neardup" / "evidence" / "figures" / "languages"
READ = ("hi", "ta", "vi", "id", "fa", "he", "sw", "am")  # CLDR has no rules for the others
BY_NUM2WORDS = ("bn",)
AMBIGUOUS = {"نه", "năm", "ba"}  # "no" in Persian; "year" and "Mrs." in Vietnamese
NUMBERS = (*range(2, 100), *range(200, 1000, 100))


def spelled(language: str) -> dict[str, int]:
    """Return the words that are a number by themselves."""
    if language in BY_NUM2WORDS:
        found = {num2words(number, lang=language): number for number in NUMBERS}
    else:
        found = {}
        rules = icu.RuleBasedNumberFormat(icu.URBNFRuleSetTag.SPELLOUT, icu.Locale(language))
        for place in range(rules.getNumberOfRuleSetNames()):
            name = rules.getRuleSetName(place)
            if "cardinal" in name or name.endswith("numbering"):
                rules.setDefaultRuleSet(name)
                found |= {rules.format(number).replace("\u200b", ""): number for number in NUMBERS}
    return {
        word: number for word, number in found.items() if " " not in word and "-" not in word and word not in AMBIGUOUS
    }


if __name__ == "__main__":
    for language in (*READ, *BY_NUM2WORDS):
        path = LANGUAGES / f"{language}.json"
        table = json.loads(path.read_text(encoding="utf-8"))
        table["numbers"]["small"] = spelled(language) | table.get("numbers written otherwise", {})
        numbers = json.dumps(table.pop("numbers"), ensure_ascii=False)
        rest = json.dumps(table, ensure_ascii=False, indent=1)
        path.write_text(f'{{\n "numbers": {numbers},{rest[1:]}\n', encoding="utf-8")
