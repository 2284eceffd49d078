"""``--fail-on``: limits on the figures of a command, for CI."""

from __future__ import annotations

import argparse
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from scrapy_neardup.commands.terminal import print_error

_OPERATORS: dict[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}
_LIMIT = re.compile(r"\s*([\w./-]+)\s*(<=|>=|<|>)\s*(\d*\.?\d+)\s*(%?)\s*")


class Limit(NamedTuple):
    """A condition under which the command fails: ``precision < 0.95``."""

    name: str
    relation: str
    bound: float

    def is_met(self, value: float) -> bool:
        return _OPERATORS[self.relation](value, self.bound)


def add_fail_on(parser: argparse.ArgumentParser, names: str) -> None:
    parser.add_argument(
        "--fail-on",
        metavar="LIMIT",
        type=_read,
        action="extend",
        default=[],
        help=f"exit with status 1 if a limit is met; separate several by commas; names are {names}",
    )


def _read(text: str) -> list[Limit]:
    limits = []
    for part in text.split(","):
        found = _LIMIT.fullmatch(part)
        if not found:
            raise argparse.ArgumentTypeError(f"must be limits such as precision<0.95, not {text!r}")
        limits.append(Limit(found[1], found[2], float(found[3]) / (100 if found[4] else 1)))
    return limits


def exceeds(limits: Sequence[Limit], values: Mapping[str, Mapping[str, float | None]]) -> bool:
    """Print each limit that is met, on standard error. Return whether there is one.

    ``values`` has for each name of a limit the values that it stands for, by where they were measured. A value that
    cannot be measured is None and counts as if the limit were met.
    """
    met = [
        f"{where + ': ' if where else ''}{limit.name} {_describe(limit, value)} (--fail-on)"
        for limit in limits
        for where, value in values[limit.name].items()
        if value is None or limit.is_met(value)
    ]
    for line in met:
        print_error(line)
    return bool(met)


def _describe(limit: Limit, value: float | None) -> str:
    return "cannot be measured" if value is None else f"is {value:.4g}, {limit.relation} {limit.bound:g}"
