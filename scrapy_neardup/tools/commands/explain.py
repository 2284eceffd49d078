"""``scrapy neardup explain A [B]``: list the documents that are like A, or say why B gets its verdict after A."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict

from scrapy_neardup import NearDupDetector, NearDupSettings
from scrapy_neardup.exceptions import NoWindowError
from scrapy_neardup.sketch import has_words
from scrapy_neardup.stories.report import iso
from scrapy_neardup.text.display import counted, one_line, printable
from scrapy_neardup.tools.ask import is_document_id
from scrapy_neardup.tools.commands.inputs import (
    NAMESPACE,
    STORE,
    Options,
    Values,
    coverage_of,
    explain_emptiness,
    json_option,
    live_detector,
    option,
)
from scrapy_neardup.tools.commands.terminal import (
    PlainConsole,
    print_error,
    print_json,
    print_table,
    print_wrapped,
    working,
)
from scrapy_neardup.tools.lab.comparison import Explanation, StoredDocument, explain_pair, named_document
from scrapy_neardup.tools.lab.replay import opened

_MOST_SENTENCES = 10  # that are printed
_LONGEST = 300  # characters of each

Sides = dict[str, tuple[str, StoredDocument]]  # the arguments A and B, each with its document


_FORM = "a url or document id of the window, INPUT#id of JSON lines, or a file (HTML or text)"

OPTIONS = (
    option("a", metavar="A", help=_FORM),
    option(
        "b",
        metavar="B",
        nargs="?",
        help="the second document, in the same form; its verdict is shown for a window that holds only A. Without it"
        " the documents of the window that are like A are listed",
    ),
    STORE,
    NAMESPACE,
    json_option("one JSON object; without B one for each document"),
)


async def run(options: Options, values: Values) -> int:
    if options.b is None:
        return await _list_similar(options, values)
    with working("reading the documents"):
        sides, comparison = await _explain(options, values)
    if empty := [given for given, each in sides.values() if each.fingerprint and not has_words(each.document.text)]:
        for given in empty:
            print_error(f"{given}: no text found, nothing to compare (unchecked/no-text)")
        return 1
    if not options.json:
        _print(sides, comparison)
        return 0
    documents = {
        name.lower(): {"given": given, "id": each.document.id, "url": each.document.url, "title": each.document.title}
        for name, (given, each) in sides.items()
    }
    print_json({**documents, **asdict(comparison)})
    return 0


async def _explain(options: Options, values: Values) -> tuple[Sides, Explanation]:
    async with AsyncExitStack() as stack:
        try:
            detector = await stack.enter_async_context(live_detector(options, values))
        except NoWindowError:  # nothing is known of other documents
            if is_document_id(options.a) or is_document_id(options.b):
                raise
            alone = NearDupSettings.from_mapping({**values, "NEARDUP_STORE": "memory://"})
            detector = await stack.enter_async_context(opened(NearDupDetector(alone)))
        a = await named_document(detector, options.a)
        b = await named_document(detector, options.b)
        return {"A": (options.a, a), "B": (options.b, b)}, explain_pair(detector, a, b)


def _print(sides: Sides, found: Explanation) -> None:
    for name, (given, stored) in sides.items():
        document = stored.document
        title = " ".join(document.title.split())
        if stored.fingerprint:  # it was just read
            print_wrapped(f"{name}  {title}", hanging=3)
            print(printable(f"   {given}"))
        else:
            seen = iso(int(document.seen_at))[:16].replace("T", " ")
            print_wrapped(f"{name}  {document.id}  {seen} UTC  {title}", hanging=3)
            print(printable(f"   {document.url}"))
    _print_lines(f"B after A: {'/'.join(filter(None, (found.status, found.kind)))}", found.why)
    print()
    rows = [("resemblance", found.resemblance), ("containment", found.containment)]
    if found.share is not None:
        rows.append(("share of B that A holds", found.share))
    print_table("", ("", "estimated"), [(name, f"{value:.3f}") for name, value in rows])
    if found.terms:
        _print_lines("Terms in common", [", ".join(found.terms)])
    _print_sentences(found)


def _print_sentences(found: Explanation) -> None:
    for old, new, differs in found.sentences[:_MOST_SENTENCES]:
        rows = {"A": old or "no such sentence", "B": new}
        if differs != new:
            rows["differs"] = differs
        _print_lines("A sentence differs", [f"{name}: {one_line(each, _LONGEST)}" for name, each in rows.items()])
    if (left := len(found.sentences) - _MOST_SENTENCES) > 0:
        print(f"\nand {counted(left, 'other sentence')}: see --json")


def _print_lines(title: str, lines: Sequence[str]) -> None:
    if lines:
        PlainConsole().print(f"\n{title}", style="bold")
    for line in lines:
        print_wrapped(line, 2)


async def _list_similar(options: Options, values: Values) -> int:
    with working("asking the window"):
        async with live_detector(options, values) as detector:
            answer = await coverage_of(detector, options.a)
            if not answer["story"]:
                await explain_emptiness(detector)
    rows = [{"like": "copy", **row} for row in answer["copies"]]
    rows += [{"like": "related", **row} for row in answer["reports"]]
    if options.json:
        for row in rows:
            print_json(row)
        return 0
    owners = counted(answer["owners"], "owner")
    print(printable(f"{counted(len(rows), 'document')} like {options.a}, of {owners}"))
    for row in rows:
        # No url is broken, so that it can be copied.
        why = f" by {row['why']}" if row["why"] else ""
        print()
        print_wrapped(f"{row['time'][:16].replace('T', ' ')} UTC  {row['like']}{why}  {row['title']}", hanging=4)
        print(printable(f"    {row['url'] or row['id']}"))
    return 0
