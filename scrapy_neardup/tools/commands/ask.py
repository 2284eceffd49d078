"""``scrapy neardup ask QUESTION``: print the answers of ask.py as JSON lines, for programs."""

import os
from typing import Any

from scrapy_neardup.exceptions import InputError
from scrapy_neardup.tools.ask import MOST_CHANGES_READ, Answer, Ask
from scrapy_neardup.tools.commands.console import (
    NAMESPACE,
    STORE,
    Options,
    Values,
    coverage_of,
    live_detector,
    number_from,
    option,
    print_csv,
    print_json,
)

# The options of each question.
_TAKES = {
    "stories": ("since", "sources", "language", "source", "most"),
    "changes": ("since", "csv", "most"),
    "figures": ("since", "csv", "most"),
    "events": ("since", "most"),
    "one-site": ("language", "source", "most"),
    "story": ("name",),
    "coverage": ("name",),
    "has-seen": ("name",),
}

_COLUMNS = {
    "changes": ("time", "story", "figure", "old", "new", "is_state", "source", "url", "title"),
    "figures": ("time", "story", "figure", "value", "is_state", "source", "url", "title"),
}


OPTIONS = (
    option("question", choices=_TAKES, help="what to ask"),
    option(
        "name",
        metavar="NAME",
        nargs="?",
        help="id of the story, or a url. coverage also takes a document in a file, as explain does, or a sentence",
    ),
    option("--since", metavar="CURSOR", help="tell only what is new since the answer that ended with this `next`"),
    option("--sources", metavar="N", type=number_from(1), help="only stories of at least N independent sources"),
    option("--language", metavar="CODE", help="only stories or articles in this language"),
    option("--source", metavar="DOMAIN", help="only stories or articles of this source or owner"),
    option(
        "--most",
        metavar="N",
        type=number_from(1, MOST_CHANGES_READ),
        help=f"how many changes an answer reads, or articles it lists, at most (default: {MOST_CHANGES_READ})",
    ),
    option("--csv", action="store_true", help="print changes or figures as one table for spreadsheets"),
    STORE,
    NAMESPACE,
)


async def run(options: Options, values: Values) -> int:
    given = _given(options)
    given.pop("csv", None)
    question = options.question.replace("-", "_")
    name = options.name or ""
    async with live_detector(options, values) as detector:
        ask = Ask(detector)
        if options.csv:
            await _print_table(ask, question, given)
            return 0
        if question == "coverage" and not _is_sentence(name):
            answer = await coverage_of(detector, name)
        elif name:
            answer = await getattr(ask, question)(name)
        else:
            answer = await getattr(ask, question)(**given)
            for row in answer.pop(question):
                print_json(row)
    print_json(answer)
    return 0


def _is_sentence(name: str) -> bool:
    return (" " in name or not (name.isascii() or "://" in name)) and not os.path.exists(name)


def _given(options: Options) -> dict[str, Any]:
    """Return the given options of the question. Raise InputError if one does not belong to it or NAME is missing."""
    names = _TAKES[options.question]
    given = {
        name: value for name in set().union(*_TAKES.values()) if (value := getattr(options, name)) not in (None, False)
    }
    if not given.keys() <= set(names) or (names == ("name",) and not options.name):
        takes = ", ".join("NAME" if name == "name" else f"--{name}" for name in names)
        raise InputError(f"{options.question}: takes {takes} and nothing else")
    return given


async def _print_table(ask: Ask, question: str, given: dict[str, Any]) -> None:
    rows: list[Answer] = []
    ends: list[Answer] = []
    while not ends or ends[-1]["more"]:
        answer = await getattr(ask, question)(**given)
        given["since"] = answer["next"]
        newest = answer.pop(question)
        told = {row["story"] for row in newest if question == "figures"}
        rows = [row for row in rows if row["story"] not in told] + newest
        ends.append(answer)
    columns = _COLUMNS[question]
    print_csv(columns, [[row[name] for name in columns] for row in rows])
    print_json(
        {
            "next": ends[-1]["next"],
            "gap": any(each["gap"] for each in ends),
            "gone": sum(each["gone"] for each in ends),
        },
        stderr=True,
    )
