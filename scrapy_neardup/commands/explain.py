"""``scrapy neardup explain A B``: show what two documents share, and why the second gets its verdict."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict
from typing import Any

from scrapy_neardup.commands.inputs import add_json, add_store, live_detector
from scrapy_neardup.commands.terminal import print_error, print_heading, print_json, print_table, print_wrapped, working
from scrapy_neardup.detector import NearDupDetector
from scrapy_neardup.exceptions import InputError, NoWindowError
from scrapy_neardup.lab.comparison import Comparison, Passage, compare
from scrapy_neardup.lab.replay import opened
from scrapy_neardup.lab.stored import StoredDocument, is_document_id, named_document
from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.sketch import has_words
from scrapy_neardup.wording import counted, printable

_PASSAGES = 5
_MOST_SHOWN = 600  # characters of a passage


Sides = dict[str, tuple[str, StoredDocument]]
"""The arguments A and B, each with its document."""


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
    add_json(parser, "one JSON object, with every passage in full")


async def run(options: argparse.Namespace, settings: dict[str, Any]) -> int:
    if options.a == options.b == "-":
        raise InputError("A and B: only one of them can be standard input")
    with working("reading the documents"):
        sides, comparison = await _explain(options, settings)
    empty = [given for given, each in sides.values() if each.fingerprint and not has_words(each.text)]
    for given in empty:
        print_error(f"{given}: no text found, nothing to compare (unchecked/no-text)")
    if empty:
        return 1
    (_print_json if options.json else _print)(sides, comparison)
    return 0


async def _explain(options: argparse.Namespace, values: dict[str, Any]) -> tuple[Sides, Comparison]:
    async with AsyncExitStack() as stack:
        try:
            detector = await stack.enter_async_context(live_detector(options, values))
        except NoWindowError:  # nothing is known of other documents
            if is_document_id(options.a) or is_document_id(options.b):
                raise
            alone = NearDupSettings.from_mapping({**values, "NEARDUP_STORE": "memory://"})
            detector = await stack.enter_async_context(opened(NearDupDetector(alone)))
        records = await detector.index.records()
        a, b = (named_document(detector, records, name, fetch=options.fetch) for name in (options.a, options.b))
        told: tuple[str, ...] = ()
        if b.fingerprint is None and b.record.candidate == a.key:
            members = await detector.index.stories.members(b.record.story.hex())
            told = next((each.changes for each in members if each.id == b.id), told)
        return {"A": (options.a, a), "B": (options.b, b)}, compare(detector, a, b, told)


def _print_json(sides: Sides, found: Comparison) -> None:
    topic = None if found.topic is None else {**found.topic._asdict(), "score": found.topic.score}
    documents = {
        name.lower(): {"given": given, "id": document.id, "url": document.url, "title": document.title}
        for name, (given, document) in sides.items()
    }
    print_json({**documents, **asdict(found), "topic": topic})


def _print(sides: Sides, found: Comparison) -> None:
    for name, (given, document) in sides.items():
        title = " ".join(document.title.split())
        seen = "" if document.fingerprint else f"  {document.id}  {document.seen_at[:16].replace('T', ' ')} UTC"
        print_wrapped(f"{name}{seen}  {title}", hanging=3)
        print(printable(f"   {given if document.fingerprint else document.url}"))
    _print_lines(f"B after A: {'/'.join(filter(None, (found.status, found.kind)))}", found.why)
    print()
    exact = ("", "") if found.texts is None else (f"{found.texts.resemblance:.3f}", f"{found.texts.containment:.3f}")
    rows = [
        ("resemblance", f"{found.resemblance:.3f}", exact[0]),
        ("containment", f"{found.containment:.3f}", exact[1]),
    ]
    if found.share is not None:
        rows.append(("share of B that A holds", f"{found.share:.3f}", ""))
    print_table("", ("", "estimated", "exact"), rows)
    if found.topic is not None:
        parts = f"{found.topic.terms:.3f} (terms) + {found.topic.titles:.3f} (titles)"
        terms = [f"terms in common: {', '.join(found.terms)}"] if found.terms else []
        lines = [f"score: {parts}; known documents: {found.documents:,}", *terms]
        _print_lines(f"Topics: {found.topic.score:.3f}", lines)
    if found.texts is not None:
        _print_passages("In both", found.texts.shared)
        for name, text in (("A", found.texts.first), ("B", found.texts.second)):
            _print_passages(f"Only in {name}", text.own)
            _print_lines(f"Left out of {name}", [f"[{why}] {_cut(line)}" for line, why in text.left_out])
    _print_lines("Figures", found.changes)
    if found.texts is None:
        print_wrapped("The window keeps no texts. To see the common text, give files, or urls with --fetch.", hanging=0)


def _print_lines(title: str, lines: Iterable[str]) -> None:
    for number, line in enumerate(lines):
        if not number:
            print_heading(title)
        print_wrapped(line, 2)


def _print_passages(title: str, passages: Sequence[Passage]) -> None:
    """Print the longest passages in the order of the text."""
    words = sum(passage.words for passage in passages)
    longest = sorted(passages, key=lambda passage: -passage.words)[:_PASSAGES]
    lines = [f"({passage.words}) {_cut(passage.text)}" for passage in passages if passage in longest]
    if len(passages) > len(lines):
        lines.append(f"and {len(passages) - len(lines)} shorter ones")
    _print_lines(f"{title}: {counted(words, 'word')} in {counted(len(passages), 'passage')}", lines)


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"
