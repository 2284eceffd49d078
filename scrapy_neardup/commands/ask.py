"""``scrapy neardup ask QUESTION``: print the answers of ask.py as JSON lines, for programs."""

from __future__ import annotations

import argparse
from typing import Any

from scrapy_neardup.ask import MOST_CHANGES_READ, Ask
from scrapy_neardup.commands.inputs import add_store, coverage_of, live_detector, number
from scrapy_neardup.commands.terminal import print_json
from scrapy_neardup.exceptions import InputError

_NEWS = "stories", "changes", "events"
_FILTERS = "sources", "language", "source"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("question", choices=(*_NEWS, "story", "coverage", "has-seen"), help="what to ask")
    parser.add_argument(
        "name",
        metavar="NAME",
        nargs="?",
        help="id of the story, or a url. coverage also takes a document in a file, as explain does",
    )
    parser.add_argument(
        "--since", metavar="CURSOR", help="tell only what is new since the answer that ended with this `next`"
    )
    parser.add_argument(
        "--sources", metavar="N", type=number(int, 1), help="only stories of at least N independent sources"
    )
    parser.add_argument("--language", metavar="CODE", help="only stories with reports in this language")
    parser.add_argument("--source", metavar="DOMAIN", help="only stories with reports of this source or owner")
    parser.add_argument(
        "--most",
        metavar="N",
        type=number(int, 1, MOST_CHANGES_READ),
        default=MOST_CHANGES_READ,
        help=f"the most changes that one answer reads (default: {MOST_CHANGES_READ})",
    )
    add_store(parser)


async def run(options: argparse.Namespace, values: dict[str, Any]) -> int:
    question: str = options.question
    filters = {name: value for name in _FILTERS if (value := getattr(options, name))}
    is_news = question in _NEWS
    if bool(options.name) == is_news or (options.since and not is_news) or (filters and question != "stories"):
        raise InputError(
            f"{question}: give a NAME to story, coverage and has-seen only, --since to {', '.join(_NEWS)} only,"
            " and --sources, --language and --source to stories only"
        )
    async with live_detector(options, values) as detector:
        ask = Ask(detector)
        if is_news:
            answer = await getattr(ask, question)(options.since, most=options.most, **filters)
            for row in answer.pop(question):
                print_json(row)
        elif question == "coverage":
            answer = await coverage_of(detector, options.name)
        else:
            answer = await getattr(ask, question.replace("-", "_"))(options.name)
    print_json(answer)
    return 0
