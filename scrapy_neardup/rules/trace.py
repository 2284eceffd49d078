"""The trace of a decision: which rules were asked, each with its value and its bound. Whatever explains prints it."""

from __future__ import annotations


class Trace:
    """Notes the rules that are asked, in their order; ``SILENT`` notes nothing."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def at_least(self, what: str, value: float, bound: float, option: str = "") -> bool:
        """Return whether a value is at least its bound. ``option`` names the parameter of the preset.

        Note ``containment 0.448 < threshold = 0.45``, with digits enough to see the relation.
        """
        if self is not SILENT:
            shown = str(value)
            if isinstance(value, float):
                enough = (each for each in (2, 3, 4) if value == bound or round(value, each) != bound)
                shown = f"{value:.{next(enough, 5)}f}"
            self.note(f"{what} {shown} {'>=' if value >= bound else '<'} {option and f'{option} = '}{bound:g}")
        return value >= bound

    def note(self, fact: str) -> None:
        """Note a rule that compares no numbers."""
        if self is not SILENT:
            self.lines.append(fact)


SILENT = Trace()
"""For decisions that nobody asks about."""
