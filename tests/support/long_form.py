"""How much the tests try: usually a part, and everything if NEARDUP_LONG_TESTS is set in the environment."""

import os
from collections.abc import Iterable
from typing import TypeVar

from hypothesis import HealthCheck, settings

LONG = "NEARDUP_LONG_TESTS" in os.environ
T = TypeVar("T")


def tries(count: int) -> int:
    """Return how many of ``count`` examples or documents to try."""
    return count if LONG else -(-count // 5)


def some(cases: Iterable[T], most: int) -> list[T]:
    """Return at most so many of the cases, the first and others at even distances; all of them in the long form."""
    listed = list(cases)
    count = len(listed) if LONG else min(most, len(listed))
    return [listed[number * len(listed) // count] for number in range(count)]


settings.register_profile(
    "usual",
    max_examples=tries(100),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],  # on a busy machine any test may be
)
"""Hypothesis draws other examples in every run, so many runs together try as many as a long one. No example has a
deadline, because a busy machine may take long for any of them."""
