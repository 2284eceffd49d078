"""What a guard finds in a pair of documents. The findings of a decision, in the order of its guards, are its trace."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
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
    """The answer of a guard. If it ``stops``, the guards behind it are not asked."""

    stops: bool
    facts: tuple[Measured | str, ...]


Guard = Callable[["Pair"], Finding | None]
"""A rule: a function of one pair. It returns None if it has nothing to say of such a pair."""


def too_low(*measured: Measured) -> Finding:
    """Return a finding that stops if none of the values reaches its bound."""
    return Finding(not any(each.is_reached for each in measured), measured)


def found(fact: str) -> Finding:
    """Return a finding that stops."""
    return Finding(True, (fact,))


def stops(pair: Pair, guards: Iterable[Guard]) -> bool:
    """Ask guards in their order, up to the first that stops, and note the findings. Return whether one stopped."""
    for guard in guards:
        finding = guard(pair)
        if finding is not None:
            pair.findings.append(finding)
            if finding.stops:
                return True
    return False


def told(findings: Iterable[Finding]) -> Iterator[str]:
    """Return the facts of findings as lines for people."""
    return (str(fact) for finding in findings for fact in finding.facts)
