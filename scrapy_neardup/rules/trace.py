"""The trace of a decision: which rules were asked, each with its value and its bound. Whatever explains prints it."""

from __future__ import annotations

from typing import NamedTuple


class Asked(NamedTuple):
    """A rule that was asked: whether ``value`` is at least ``bound``. ``option`` names the parameter of the preset."""

    what: str
    value: float
    bound: float
    option: str = ""

    def __str__(self) -> str:
        """Return ``containment 0.448 < threshold = 0.45``, with digits enough to see the relation."""
        sign = ">=" if self.value >= self.bound else "<"
        bound = f"{f'{self.option} = ' if self.option else ''}{self.bound:g}"
        if isinstance(self.value, int):
            return f"{self.what} {self.value} {sign} {bound}"
        digits = (each for each in (2, 3, 4) if self.value == self.bound or round(self.value, each) != self.bound)
        return f"{self.what} {self.value:.{next(digits, 5)}f} {sign} {bound}"


class Trace:
    """Notes the rules that are asked, in their order; ``SILENT`` notes nothing."""

    def __init__(self) -> None:
        self.asked: list[Asked | str] = []

    def at_least(self, what: str, value: float, bound: float, option: str = "") -> bool:
        """Return whether a value is at least its bound."""
        if self is not SILENT:
            self.asked.append(Asked(what, value, bound, option))
        return value >= bound

    def note(self, fact: str) -> None:
        """Note a rule that compares no numbers."""
        if self is not SILENT:
            self.asked.append(fact)

    @property
    def lines(self) -> tuple[str, ...]:
        return tuple(map(str, self.asked))


SILENT = Trace()
"""For decisions that nobody asks about."""
