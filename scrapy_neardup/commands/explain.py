"""``scrapy neardup explain A B``: show what two documents share, and why the second gets its verdict."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Iterable, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict
from typing import Any, NamedTuple

from scrapy_neardup.commands.inputs import add_json, add_preset, add_store, live_detector
from scrapy_neardup.commands.terminal import PlainConsole, print_error, print_json, print_table, working
from scrapy_neardup.detector import NearDupDetector
from scrapy_neardup.document import counted, printable
from scrapy_neardup.exceptions import InputError, NoWindowError
from scrapy_neardup.lab.comparison import Comparison, compare, match_of
from scrapy_neardup.lab.passages import Passage
from scrapy_neardup.lab.replay import opened
from scrapy_neardup.lab.stored import StoredDocument, is_document_id, named_document
from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.sketch import has_words

_PASSAGES = 5
_WORDS = 60


class _Answer(NamedTuple):
    sides: dict[str, StoredDocument]
    matches: dict[str, StoredDocument | None]  # of each side, when it came
    comparison: Comparison


def add_arguments(parser: argparse.ArgumentParser) -> None:
    form = "a file (HTML or text), -, an http(s) url, a document id of the window, or INPUT#id of JSON lines"
    parser.add_argument("a", metavar="A", help=form)
    parser.add_argument(
        "b",
        metavar="B",
        help="the second document, in the same form; its verdict is shown for a window that holds only A",
    )
    parser.add_argument("--fetch", action="store_true", help="fetch urls, even if the window has them")
    add_store(parser)
    add_preset(parser)
    add_json(parser, "one JSON object, with every passage in full")


def run(options: argparse.Namespace, settings: dict[str, Any]) -> int:
    if options.a == options.b == "-":
        raise InputError("A and B: only one of them can be standard input")
    with working("reading the documents"):
        answer = asyncio.run(_explain(options, settings))
    names = {"A": options.a, "B": options.b}
    empty = [names[side] for side, each in answer.sides.items() if each.fingerprint and not has_words(each.text)]
    for name in empty:
        print_error(f"{name}: no text found, nothing to compare (unchecked/no-text)")
    if empty:
        return 1
    (_print_json if options.json else _print)(answer, names)
    return 0


async def _explain(options: argparse.Namespace, values: dict[str, Any]) -> _Answer:
    async with AsyncExitStack() as stack:
        try:
            detector = await stack.enter_async_context(live_detector(options, values))
        except NoWindowError:  # nothing is known of other documents
            if is_document_id(options.a) or is_document_id(options.b):
                raise
            alone = NearDupSettings.from_mapping({**values, "NEARDUP_STORE": "memory://"})
            detector = await stack.enter_async_context(opened(NearDupDetector(alone)))
        records = await detector.index.records()
        named = {"A": options.a, "B": options.b}.items()
        sides = {side: named_document(detector, records, name, fetch=options.fetch) for side, name in named}
        matches = {side: match_of(each, records) for side, each in sides.items()}
        return _Answer(sides, matches, compare(detector, sides["A"], sides["B"]))


def _print_json(answer: _Answer, names: dict[str, str]) -> None:
    found = answer.comparison
    topic = None if found.topic is None else {**found.topic._asdict(), "score": found.topic.score}
    documents = {
        side.lower(): {"given": names[side], **_described(each), "match": _described(answer.matches[side])}
        for side, each in answer.sides.items()
    }
    print_json({**documents, **asdict(found), "topic": topic})


def _described(document: StoredDocument | None) -> Any:
    return None if document is None else {"id": document.id, "url": document.url, "title": document.title}


def _print(answer: _Answer, names: dict[str, str]) -> None:
    console, found = PlainConsole(), answer.comparison
    for side, each in answer.sides.items():
        title = " ".join(each.title.split())
        seen = "" if each.fingerprint else f"  {each.id}  {each.seen_at[:16].replace('T', ' ')} UTC"
        console.print_indented(f"{side}{seen}  {title}", 0, hanging=3)
        print(printable(f"   {names[side] if each.fingerprint else each.url}"))
    console.print(f"\nB after A: {'/'.join(filter(None, (found.status, found.kind)))}", style="bold")
    for line in found.why:
        console.print_indented(line, hanging=2)
    console.print()
    _print_measures(found)
    if found.topic is not None:
        console.print(f"\nTopics: {found.topic.score:.3f}", style="bold")
        parts = f"{found.topic.terms:.3f} (terms) + {found.topic.titles:.3f} (titles)"
        console.print_indented(f"score: {parts}; known documents: {found.documents:,}")
        if found.terms:
            console.print_indented(f"terms in common: {', '.join(found.terms)}", hanging=2)
    if found.texts is not None:
        _print_passages(console, "In both", found.texts.shared)
        texts = {"A": found.texts.first, "B": found.texts.second}
        for side, text in texts.items():
            _print_passages(console, f"Only in {side}", text.own)
            lines = [f"[{left_out.why}] {_shortened(left_out.line)}" for left_out in text.left_out]
            _print_lines(console, f"Left out of {side}", lines)
    _print_lines(console, "Figures", found.changes)
    for side, match in answer.matches.items():
        _print_match(console, side, match, {each.id: name for name, each in answer.sides.items()})
    if found.texts is None:
        hint = "The window keeps no texts. To see the common text, give files, or urls with --fetch."
        console.print_indented(hint, 0)


def _print_measures(found: Comparison) -> None:
    exact = ("", "") if found.texts is None else (f"{found.texts.resemblance:.3f}", f"{found.texts.containment:.3f}")
    rows = [
        ("resemblance", f"{found.resemblance:.3f}", exact[0]),
        ("containment", f"{found.containment:.3f}", exact[1]),
        *([] if found.share is None else [("share of B that A holds", f"{found.share:.3f}", "")]),
    ]
    print_table("", ("", "estimated", "exact"), rows)


def _print_match(console: PlainConsole, side: str, match: StoredDocument | None, names: dict[str, str]) -> None:
    """Print with which document this one was compared when it came."""
    if match is not None:
        found = names.get(match.id) or f"{match.id}: {' '.join(match.title.split())}"
        console.print_indented(f"When {side} came, its match was {found}", 0, hanging=3)
        if match.id not in names:
            print(printable(f"   {match.url}"))


def _print_lines(console: PlainConsole, title: str, lines: Iterable[str]) -> None:
    for number, line in enumerate(lines):
        if not number:
            console.print(f"\n{title}", style="bold")
        console.print_indented(line)


def _print_passages(console: PlainConsole, title: str, passages: Sequence[Passage]) -> None:
    """Print the longest passages in the order of the text."""
    words = sum(passage.words for passage in passages)
    longest = sorted(passages, key=lambda passage: -passage.words)[:_PASSAGES]
    lines = [f"({passage.words}) {_shortened(passage.text)}" for passage in passages if passage in longest]
    if len(passages) > len(lines):
        lines.append(f"and {len(passages) - len(lines)} shorter ones")
    _print_lines(console, f"{title}: {counted(words, 'word')} in {counted(len(passages), 'passage')}", lines)


def _shortened(text: str) -> str:
    words = text.split()
    short = text if len(words) <= _WORDS else " ".join(words[:_WORDS]) + " …"
    return short if len(short) <= 10 * _WORDS else short[: 10 * _WORDS] + "…"
