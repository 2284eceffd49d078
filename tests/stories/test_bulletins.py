"""Thirty small sites print bulletins in one form: what is kept of a change, and what is told of it.

``docs/howto/public-health.md`` has the table.
"""

import re
from pathlib import Path

from scrapy_neardup import NearDupDetector, NearDupSettings, Verdict
from scrapy_neardup.stories.summary import states_of

FORM = """{place}: bulletin of the health office
The health office of {place} reports an outbreak of {disease} in {spread}. {figures}
Samples were sent to the laboratory in Veldhaven on Monday, and the results are expected within the week.
Residents are asked to boil water, to wash their hands before each meal and to see a doctor if they have a fever.
The district hospital has set up a ward of its own, and schools stay open. The next bulletin will come on Thursday."""

USUAL = {"disease": "cholera", "spread": "three villages", "figures": "12 people are ill."}
CHANGES = {
    "another place": ("Aldermoor", {}, {"place": "Brandreth"}),
    "another disease": ("Calverley", {}, {"disease": "typhoid"}),
    "more villages": ("Dunstable", {}, {"spread": "five villages"}),
    "no death, a first death": ("Everleigh", {"figures": "No one has died."}, {"figures": "A first patient has died."}),
    "12 ill, 24 ill": ("Farnhurst", {}, {"figures": "24 people are ill."}),
    "dozens, hundreds": (
        "Garrowby",
        {"figures": "Dozens of people are ill."},
        {"figures": "Hundreds of people are ill."},
    ),
    "4 deaths, two more": ("Hexwick", {"figures": "4 people have died."}, {"figures": "Two more people have died."}),
    "12 deaths, a correction": (
        "Ilminster",
        {"figures": "12 people have died."},
        {"figures": "Correction: 9 people have died, not 12."},
    ),
    "30 cases, 45": ("Jarrowfield", {"figures": "30 cases are confirmed."}, {"figures": "45 cases are confirmed."}),
    "31 in hospital, 58": (
        "Kelmscott",
        {"figures": "31 people have been hospitalised."},
        {"figures": "58 people have been hospitalised."},
    ),
}
"""What changes, with a place of its own, the form before, and what is new in it. Three sites print each."""

START, MINUTE = 1_700_000_000, 60
GUIDE = Path(__file__).parents[2] / "docs/howto/public-health.md"


async def print_all() -> tuple[dict[str, Verdict], dict[str, tuple[str, str, str]]]:
    """Return the verdicts of the first bulletins that have the changes, and the rows that the guide should have."""
    detector = NearDupDetector(NearDupSettings(store="memory://", action="drop"), run="")
    await detector.open()
    first: dict[str, Verdict] = {}
    at = START
    for round_ in (0, 1):
        for number, (change, (place, before, after)) in enumerate(CHANGES.items()):
            form = FORM.format(**{**USUAL, "place": place, **before, **(after if round_ else {})})
            title, _, text = form.partition("\n")
            for site in range(3 * number, 3 * number + 3):
                at += MINUTE
                url = f"https://clinic{site}.example/bulletin/{round_}"
                verdict = await detector.check(detector.document(text, url=url, title=title, seen_at=at))
                if round_ == 1:
                    first.setdefault(change, verdict)
    keys = [bytes.fromhex(verdict.story or "") for verdict in first.values()]
    stories = await detector.index.stories.whole(keys)
    rows = {}
    for key, (change, verdict) in zip(keys, first.items(), strict=True):
        states = states_of(stories[key][0].ledger, stories[key][1], 0)
        rows[change] = verdict.status, "; ".join(verdict.changes), "; ".join(each.words for each in states)
    await detector.close()
    return first, rows


async def test_the_guide_says_what_is_kept_and_told_and_no_change_is_dropped() -> None:
    first, expected = await print_all()
    lines = re.findall(r"^\| (.+?) \| `(\w+)` \| (.*?) \| (.*?) \|$", GUIDE.read_text(encoding="utf-8"), re.MULTILINE)
    rows = {name: (status, *(cell.strip("`") for cell in cells)) for name, status, *cells in lines}
    assert {name: rows.get(name) for name in expected} == expected
    assert [name for name, verdict in first.items() if verdict.would_drop] == []
    assert len({verdict.story for verdict in first.values()}) == len(CHANGES), "no two places are one story"
