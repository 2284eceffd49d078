"""The time that the pages of one source may take, so that a few pages cannot stall a crawl of many sources."""

from __future__ import annotations

from math import inf

import pytest

from scrapy_neardup.content.worker_process import TimeBudget
from scrapy_neardup.exceptions import ExtractionError

SIZE = 100_000  # bytes
USUAL = 0.01  # seconds
FAST = [f"paper{number}.example" for number in range(20)]


def budget(*sources: str) -> TimeBudget:
    """A budget of one second, for pages of these sources."""
    made = TimeBudget(1.0)
    for source in sources:
        made.expect(source)
    return made


def extracts(budget: TimeBudget, source: str, seconds: float) -> float | None:
    """How long the page of a source, which needs so many seconds, was read; None if it was refused."""
    try:
        limit = budget.limit(source, SIZE)
    except ExtractionError:
        return None
    budget.add(source, SIZE, limit, min(seconds, limit))
    return min(seconds, limit)


def test_pages_that_never_end_cost_their_source_its_budget_and_no_other_source_a_page() -> None:
    chosen = budget("bad.example", *FAST)
    taken = []
    for source in FAST:
        taken.append(extracts(chosen, "bad.example", inf))
        assert extracts(chosen, source, USUAL) == USUAL
    assert taken[0] == pytest.approx(0.6, abs=0.1)
    assert taken[1:] == [None] * 19


def test_a_slow_page_costs_its_source_a_bounded_number_of_others() -> None:
    chosen = budget("slow.example", *FAST)
    for source in FAST * 5:
        extracts(chosen, source, USUAL)
    assert extracts(chosen, "slow.example", 5.0)
    answers = [extracts(chosen, "slow.example", USUAL) for _ in range(110)]
    assert 40 < answers.count(None) < 60
    assert answers[-1] == USUAL


def test_many_strangers_with_slow_pages_cost_no_more_than_one() -> None:
    chosen = budget("bad.example", *FAST)
    for source in FAST:
        extracts(chosen, source, USUAL)
    taken = []
    for number in range(100):
        taken.append(extracts(chosen, f"bad{number}.example", inf) or 0.0)
        extracts(chosen, FAST[number % 20], USUAL)
        extracts(chosen, FAST[-number % 20], USUAL)
    assert taken[0] == pytest.approx(0.6, abs=0.1)
    assert max(taken[1:]) < 0.2
    assert extracts(chosen, "new.example", 8 * USUAL) == 8 * USUAL
    assert extracts(chosen, FAST[0], 0.5) == 0.5  # it is no stranger


def test_slow_pages_of_every_source_are_a_slow_machine() -> None:
    chosen = budget(*FAST)
    assert [extracts(chosen, source, 10 * USUAL) for source in FAST * 10] == [10 * USUAL] * 200


def test_pages_that_take_a_few_times_as_long_as_others_are_never_refused() -> None:
    """Long pages have more time, and pages that are read three times, or in tables, stay below the limit."""
    chosen = budget(*FAST)
    assert None not in [extracts(chosen, source, USUAL * (8 if source == FAST[0] else 1)) for source in FAST * 50]
    assert chosen.limit(FAST[0], 10 * SIZE) > 1 + 5 * (chosen.limit(FAST[0], SIZE) - 1)
