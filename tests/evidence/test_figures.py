"""The figures guard: what counts as a figure, which notation is the same number, and what is a change."""

from pathlib import Path

import pytest
from cases import read_cases
from hypothesis import example, given
from hypothesis import strategies as st

from scrapy_neardup.evidence.changes import changes_between
from scrapy_neardup.evidence.differences import compare
from scrapy_neardup.evidence.figures.figure import MAX_CHARACTERS, find_figures
from scrapy_neardup.evidence.page_lines import Side

STORY = (
    "{} people were killed in the harbour of Izmir when a ferry sank.\n"
    "Rescuers pulled {} survivors from the water, said the mayor, who spoke of damage worth ${} million.\n"
    "About {} percent of the crew had no training. Unemployment in the town stands at {}."
)


def values(text: str) -> list[str]:
    return [figure.value for figure in find_figures(text)]


def changes(old: str, new: str) -> tuple[str, ...]:
    sides = Side("", new), Side("", old)
    return tuple(change.line for change in changes_between(*sides, compare(*sides)))


CASES = read_cases(Path(__file__).with_name("number_words.txt"))
NOTATIONS = [(each, value) for value, *written in CASES["one number"] for each in written]


@pytest.mark.parametrize(("written", "value"), [*NOTATIONS, ("1\u202f200", "1200")])
def test_one_number_has_one_value_however_written(written: str, value: str) -> None:
    assert values(f"counted {written} altogether")[0] == value


@pytest.mark.parametrize("masked", [text for (text,) in CASES["no figures"]])
def test_dates_times_years_phone_numbers_and_addresses_are_no_figures(masked: str) -> None:
    assert values(f"updated {masked} downtown") == []


def test_what_only_resembles_a_date_is_a_figure() -> None:
    assert values("in November, 12 people came") == ["12"]
    assert values("the other 12 may have died") == ["12"]
    assert values("sept morts à Lyon") == ["7"]
    assert values("some 2000 people and $1950") == ["2000", "1950"]
    assert values("John Smith, 45, was arrested") == ["45"]
    assert values("es starben 12 am Montag und 3 danach") == ["12", "3"]


@pytest.mark.parametrize(
    "name", ["Covid-19 deaths", "F16 jets", "an A320 plane", "the G-7", "Ил-76 упал", "COVID-19: deaths"]
)
def test_a_number_that_belongs_to_a_name_is_no_figure(name: str) -> None:
    assert values(f"In the city {name} were in the news again, and USD50 was paid.") == ["50"]


def test_a_label_is_the_word_people_would_read() -> None:
    figures = find_figures(
        "At least 4 dead, 5 per cent, $3 billion, a magnitude-6.1 quake, won 2-1 on Sunday, 7 cases,"
        " 58 have been taken ill."
    )
    assert [figure.label for figure in figures] == ["dead", "%", "$", "magnitude", "score", "cases", "ill"]


def test_a_new_toll_above_the_old_one_is_the_news() -> None:
    old = "Four people were killed in Dorvale, the mayor said."
    assert changes(old, f"Twelve people were killed in Dorvale, the mayor said.\n{old}") == ("dead: 4 -> 12",)
    assert changes(old, f"{old}\nIn 1953 twelve people were killed in Dorvale.") == ()
    assert changes(old, "The toll in Dorvale rose from four to nine.") == ("dead: 4 -> 9",)
    assert changes(old, f"Two of the four people killed were children.\n{old}") == ()


def test_a_figure_only_one_text_has_is_no_change() -> None:
    story = STORY.format(4, 30, 5, 12, 9)
    first, rest = story.split("\n", 1)
    assert changes(story, rest) == changes(rest, story) == ()
    assert changes(story, f"By 3 reporters\n{story}\nRead 14 more stories") == ()
    assert changes("a row of 15.36 200 points", "a row of 15.36 points") == ()
    assert changes(story, f"{rest}\n{first}") == ()


def test_a_value_that_stands_twice_is_compared_in_its_own_place() -> None:
    old = "The mayor of Dorvale said that 4 people were killed and 4 were injured."
    assert changes(old, old.replace("4 were", "9 were")) == ("injured: 4 -> 9",)
    assert changes(old, old.replace("4 people", "9 people")) == ("dead: 4 -> 9",)


def test_equal_neighbours_with_several_values_are_compared_as_a_set() -> None:
    rows = [f"held in lieu of {bond} dollars bond" for bond in (300, 500, 700)]
    assert changes("\n".join(rows), "\n".join(reversed(rows[1:]))) == ()
    assert changes("\n".join(rows), "\n".join([*rows[:2], "held in lieu of 900 dollars bond"])) == (
        "lieu: 700 dollars -> 900 dollars",
    )


# Years are no figures, a factor of exactly 1,000, 100,000 or more is taken for a lost "thousand" or "million", and a
# number with a last 0 may be another one, rounded.
whole = st.integers(0, 1899) | st.integers(2100, 99_999)
numbers = whole.filter(lambda number: number % 10 or not number).map(lambda number: f"{number:,}")


@example(["0"] * 5, ["0", "0", "0", "0", "2,101"])
@example(["0"] * 5, ["0", "0", "1", "0", "0"])
@example(["0", "0", "0", "0", "2"], ["0", "0", "0", "0", "2,101"])
@given(st.lists(numbers, min_size=5, max_size=5), st.lists(numbers, min_size=5, max_size=5))
def test_any_other_number_in_an_untouched_text_is_a_change(old: list[str], new: list[str]) -> None:
    assert bool(changes(STORY.format(*old), STORY.format(*new))) == (old != new)


WORDS = [
    f"{a}{b}{c}" for a in ("ba", "ko", "lu", "ti") for b in ("ran", "sel", "min", "dor") for c in ("a", "eth", "os")
]


@given(st.integers(60, 200), st.integers(0, 199), st.integers(3, 1000))
@example(117, 116, 3)
@example(200, 199, 3)
def test_a_change_is_seen_wherever_it_stands_in_a_text_full_of_numbers(count: int, place: int, step: int) -> None:
    items = [
        f"{WORDS[i % 48].title()} and {WORDS[(i * 7 + 3) % 48]} sold {i * 3 + 5000} of {WORDS[(i * 5 + 11) % 47]}."
        for i in range(count)
    ]
    edited, place = items.copy(), place % count
    edited[place] = edited[place].replace(str(place * 3 + 5000), str(place * 3 + 5001 + step * 3))
    assert changes(" ".join(items), " ".join(items)) == ()
    assert changes(" ".join(items), " ".join(edited))


@given(st.text())
def test_any_text_is_read_and_equals_itself(text: str) -> None:
    find_figures(text)
    assert changes(text, text) == ()


@given(st.text(alphabet="0123456789 ,.:/-'$%()+\n٣१twomillionandamJn月日", max_size=300))
def test_any_heap_of_digits_is_read_and_equals_itself(text: str) -> None:
    assert changes(text, text) == ()


UNITS = "1.1|(1|one hundred |é|二万|zweitausend "


@pytest.mark.parametrize("unit", UNITS.split("|"))
def test_of_a_megabyte_only_the_first_part_is_read(unit: str) -> None:
    text = unit * (3 * MAX_CHARACTERS // len(unit))
    assert find_figures(text) == find_figures(text[:MAX_CHARACTERS])


@pytest.mark.parametrize("ones", ["1" * 40, "1" * 5000])
def test_a_number_of_any_length_is_compared(ones: str) -> None:
    for end in ("", ".25", "2"):
        assert changes(f"The bank of the town paid {ones}.5 euros", f"The bank of the town paid {ones}{end} euros")
