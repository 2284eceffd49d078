"""What a guard finds in a pair. The findings of a decision, in the order of its guards, are its trace."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from scrapy_neardup.rules.pair import Pair


class Measured(NamedTuple):
    """A value with its bound. ``option`` names the parameter of the preset that is the bound."""

    what: str
    value: float
    bound: float
    option: str = ""

    @property
    def is_reached(self) -> bool:
        return self.value >= self.bound

    def __str__(self) -> str:
        """Return ``containment 0.448 < threshold = 0.45``, with digits enough to see the relation."""
        shown = str(self.value)
        if isinstance(self.value, float):
            enough = (each for each in (2, 3, 4) if self.value == self.bound or round(self.value, each) != self.bound)
            shown = f"{self.value:.{next(enough, 5)}f}"
        relation = ">=" if self.is_reached else "<"
        return f"{self.what} {shown} {relation} {self.option and f'{self.option} = '}{self.bound:g}"


class Finding(NamedTuple):
    """The answer of a guard: whether its statement ``applies``, and why."""

    applies: bool
    facts: tuple[Measured | str, ...]


def applies_because(fact: str) -> Finding:
    """Return a finding that applies."""
    return Finding(True, (fact,))


def applies_if(applies: bool, fact: str) -> Finding | None:
    """Return a finding that applies, or None: then there is nothing to say."""
    return Finding(True, (fact,)) if applies else None


def too_low(*facts: Measured | str) -> Finding:
    """Return a finding that applies if one of the values does not reach its bound."""
    return Finding(any(isinstance(fact, Measured) and not fact.is_reached for fact in facts), facts)


Guard = Callable[[Pair], Finding | None]
"""A rule: a function of one pair. It returns None if it has nothing to say of such a pair."""


class Trace:
    """What guards found in a pair, in the order in which they were asked."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []

    def applies(self, guards: Iterable[Guard], pair: Pair) -> bool:
        """Ask guards in their order, up to the first that applies. Return whether one does."""
        for guard in guards:
            finding = guard(pair)
            if finding is not None:
                self.findings.append(finding)
                if finding.applies:
                    return True
        return False


def any_applies(guards: Iterable[Guard], pair: Pair) -> bool:
    return Trace().applies(guards, pair)
