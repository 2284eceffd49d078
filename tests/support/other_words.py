"""Make reports in words of their own, which share nothing but names, for the tests of topics.

``BUDGET`` and ``STRIKE`` begin two stories. ``BOTH`` has the names of both, so with it they turn out to be one story.
"""

from __future__ import annotations

from newsdesk import text

_LINE = 10  # words between two names


def report(names: str, seed: object) -> str:
    """Return a text of random words with these names in its first lines."""
    filler = iter(text(seed, 150).split())
    return "\n".join(f"{' '.join(next(filler) for _ in range(_LINE))} {name} {next(filler)}" for name in names.split())


_SHARED = "Skerrow Tamsin"
_BUDGET = "Aldermoor Brandreth Calverley Dunstable Everleigh Fairweather"
_STRIKE = "Garroway Hollingbury Inchbold Jellicoe Kirkwhelp Lanchester"

BUDGET_NAMES = f"{_SHARED} {_BUDGET}"
BUDGET = report(BUDGET_NAMES, "budget")
STRIKE = report(f"{_SHARED} {_STRIKE}", "strike")
BOTH = report(f"{_SHARED} {_BUDGET} {_STRIKE}"[: -len(" Lanchester")], "both")
