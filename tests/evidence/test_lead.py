"""The lead of an event: one true sentence of the story, or none."""

import pytest

from scrapy_neardup.evidence.lead import find_lead

HEADLINE = "Ferry aground off Brackwater floats free"
TEASER = "Four dead in river fever outbreak, the health office of Brackwater said on Monday."
SENTENCE = "A ferry that ran aground off Brackwater on Sunday floated free with the morning tide."


@pytest.mark.parametrize(
    ("headline", "text", "lead"),
    [
        (HEADLINE, f"Four dead in river fever outbreak\n{SENTENCE}", SENTENCE),
        (HEADLINE, f"{SENTENCE} Nobody was hurt.\nThe ferry of Brackwater sails again.", SENTENCE),
        (HEADLINE, f"The old ferry of Brackwater is for sale again.\n{HEADLINE}\n{SENTENCE}", SENTENCE),
        (HEADLINE, f"In Brackwater a ferry was for sale in spring.\n{SENTENCE}", SENTENCE),
        (HEADLINE, TEASER, ""),
        (f"{HEADLINE}, 4 hurt", "In Brackwater a ferry floated free, and 9 passengers were hurt.", ""),
        (f"{HEADLINE}, 4 hurt", "Four men of Brackwater were hurt.", "Four men of Brackwater were hurt."),
        (HEADLINE, f"{HEADLINE} and more pictures of the day", ""),
        (HEADLINE, f"A ferry of Brackwater that floats free again (Picture: Jane Doe).\n{SENTENCE}", SENTENCE),
        (HEADLINE, f"Here is what we know of the ferry of Brackwater that floats free:\n{SENTENCE}", SENTENCE),
        (HEADLINE, f"-- {SENTENCE}", SENTENCE),
        (HEADLINE, f"{SENTENCE} {'The tide was high. ' * 20}", SENTENCE),
        (HEADLINE, f"Last month another ferry floated free off Brackwater.\n{SENTENCE}", SENTENCE),
        (HEADLINE, f"“The old ferry of Brackwater floats free, and we are glad.\n{SENTENCE}", SENTENCE),
        ("", f"By Jane Doe\n{SENTENCE}", SENTENCE),
        ("", "በሸለቆው የመሬት መንሸራተት ሰዎች ሞተው ተገኙ።", "በሸለቆው የመሬት መንሸራተት ሰዎች ሞተው ተገኙ።"),
        ("", "เจ้าหน้าที่พบผู้เสียชีวิตในตลาดที่ถูกไฟไหม้", "เจ้าหน้าที่พบผู้เสียชีวิตในตลาดที่ถูกไฟไหม้"),
    ],
)
def test_a_lead_is_a_sentence_that_tells_what_the_headline_says(headline: str, text: str, lead: str) -> None:
    assert find_lead(headline, text) == lead


def test_a_sentence_that_is_cut_where_reading_ends_is_no_lead() -> None:
    line = "The fire at the harbour destroyed boats worth 12.5 million euros on Monday."
    for begin in range(1500 - len(line), 1500):
        assert find_lead("", "\n" * begin + line) in ("", line)
