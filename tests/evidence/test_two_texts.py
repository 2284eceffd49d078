"""What two texts say of each other: figures that changed places, words in another order, how much is held."""

import random

import pytest
from news_site import article

from scrapy_neardup.evidence.differences import Comparison, compare
from scrapy_neardup.evidence.page_lines import Side

STORY = (
    "The ferry Aurora ran aground off Skerrow, and rescuers worked through the night to bring people to land.\n"
    "In the harbour {} people were killed and {} were injured, said the mayor after a look at the first reports.\n"
    "About {} percent of the crew had no training for such a storm."
)


def compared(new: str, old: str) -> Comparison:
    return compare(Side("", new), Side("", old))


@pytest.mark.parametrize("other", [(5, 3, 7), (3, 5, 5)], ids=["changed places", "as in the sentence before"])
def test_a_figure_that_stands_elsewhere_is_content(other: tuple[object, ...]) -> None:
    old = STORY.format(3, 5, 7)
    assert compared(old, old).first_new_statement is None
    assert compared(STORY.format(*other), old).first_new_statement is not None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Results:\nArdmore\n2\nBelmont\n1", "Results:\nArdmore\n1\nBelmont\n2"),
        ("Will the quay close?\nYes.\nDid anybody know?\nNo.", "Will the quay close?\nNo.\nDid anybody know?\nYes."),
        ("It was -5 degrees in the harbour at night.", "It was 5 degrees in the harbour at night."),
        ("It was 5 degrees in the harbour at night.", "It was \u22125 degrees in the harbour on this night."),
    ],
)
def test_cells_and_signs_are_content(old: str, new: str) -> None:
    story = STORY.format(3, 5, 7)
    assert compared(f"{story}\n{new}", f"{story}\n{new}").first_new_statement is None
    assert compared(f"{story}\n{new}", f"{story}\n{old}").first_new_statement is not None


NAMES = ["Ada Holm", "Ben Iversen", "Cora Jansen", "Dan Krogh"]


@pytest.mark.parametrize("names", [[*NAMES[:3], "Eva Lund"], [*NAMES, "Eva Lund"]])
def test_a_list_of_names_is_no_byline(names: list[str]) -> None:
    old, new = ("\n".join((STORY.format(3, 5, 7), "The dead are:", *each)) for each in (NAMES, names))
    assert compared(new, old).first_new_statement is not None
    assert compared(f"Eva Lund\n{STORY.format(3, 5, 7)}", STORY.format(3, 5, 7)).first_new_statement is None


def test_only_whole_sentences_are_learned_lines() -> None:
    old = STORY.format(3, 5, 7)
    line = "The mayor said that the tunnel is closed to all readers without a ticket."

    def content(added: str) -> bool:
        return compare(Side("", f"{old}\n{added}"), Side("", old), (line,)).first_new_statement is not None

    assert not content(line)
    assert content("The tunnel is closed.")


def test_a_sentence_of_the_same_words_in_another_order_is_new() -> None:
    words = article("ferry", 45).split()
    mixed = random.Random(1).sample(words, len(words))
    found = compared(" ".join(mixed), " ".join(words))
    assert found.first_new_statement is not None
    assert found.share == 0


def test_a_short_sentence_with_a_word_of_its_own_is_new() -> None:
    old = STORY.format(3, 5, 7)
    assert compared(f"{old}\nThe mayor resigned.", old).first_new_statement is not None
    assert compared(f"{old}\nSaid the mayor.", old).first_new_statement is None


def test_reworded_parts_are_not_held() -> None:
    old = "The governor of the island told the council that nobody had expected such a wave in the old harbour."
    new = "The governor of the island admitted to councillors that few people had foreseen a flood in the old harbour."
    assert 0.4 < compared(new, old).share < 0.8
