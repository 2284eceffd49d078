"""``scrapy neardup explain A [B]``: list the documents that are like A, or say why B gets its verdict after A."""

from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass

from scrapy_neardup import Document, Fingerprint, NearDupDetector, NearDupSettings
from scrapy_neardup.content.urls import url_identity
from scrapy_neardup.evidence.sources import source_of
from scrapy_neardup.evidence.topic import shared_words
from scrapy_neardup.exceptions import NoWindowError
from scrapy_neardup.index.postings import LEAST_WEIGHT, weights_of
from scrapy_neardup.records.documents import Record, StoredText, new_record, seconds_of
from scrapy_neardup.rules.match import Measured
from scrapy_neardup.rules.pair import Pair
from scrapy_neardup.stories.report import iso
from scrapy_neardup.text.display import counted, one_line, printable
from scrapy_neardup.text.words import has_words
from scrapy_neardup.tools.ask import Answer, Ask, is_document_id
from scrapy_neardup.tools.commands.console import (
    NAMESPACE,
    STORE,
    Options,
    PlainConsole,
    Values,
    coverage_of,
    explain_emptiness,
    json_option,
    live_detector,
    option,
    print_error,
    print_json,
    print_table,
    print_wrapped,
    read_single,
)
from scrapy_neardup.tools.lab.replay import document_of, opened

_MOST_SENTENCES = 10  # that are printed

OPTIONS = (
    option(
        "a",
        metavar="A",
        help="a url or document id of the window, INPUT#id of JSON lines, or a file (HTML or text)",
    ),
    option(
        "b",
        metavar="B",
        nargs="?",
        help="the second document, in the same form, judged in a window that holds only A. Without B, the documents of"
        " the window that are like A are listed",
    ),
    STORE,
    NAMESPACE,
    json_option("one JSON object; without B one for each document"),
)


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """A document as a store keeps it: one of the window, or one that was just read."""

    key: bytes
    record: Record
    kept: StoredText | None = None  # title and text, None if the window does not have them
    fingerprint: Fingerprint | None = None  # of a document that was just read

    @property
    def document(self) -> Document:
        """Return the document, without a text if the window does not have it."""
        url = self.record.url.decode("utf-8", "replace")
        return Document(
            self.key.hex(),
            url,
            source_of(url),
            self.record.title.decode("utf-8", "replace"),
            self.kept.text if self.kept else "",
            float(seconds_of(self.key)),
        )


async def run(options: Options, values: Values) -> int:
    if options.b is None:
        return await _list_similar(options, values)
    async with AsyncExitStack() as stack:
        try:
            detector = await stack.enter_async_context(live_detector(options, values))
        except NoWindowError:  # nothing is known of other documents
            if is_document_id(options.a) or is_document_id(options.b):
                raise
            alone = NearDupSettings.from_mapping({**values, "NEARDUP_STORE": "memory://"})
            detector = await stack.enter_async_context(opened(NearDupDetector(alone)))
        sides = [(name, await _named_document(detector, name)) for name in (options.a, options.b)]
        found = explain_pair(detector, sides[0][1], sides[1][1])
    if empty := [given for given, each in sides if each.fingerprint and not has_words(each.document.text)]:
        for given in empty:
            print_error(f"{given}: no text found, nothing to compare (unchecked/no-text)")
        return 1
    if options.json:
        a, b = (
            {"given": given, "id": each.document.id, "url": each.document.url, "title": each.document.title}
            for given, each in sides
        )
        print_json({"a": a, "b": b, **found})
    else:
        _print(sides, found)
    return 0


async def _named_document(detector: NearDupDetector, name: str) -> StoredDocument:
    """Return the document of the window with this id, or the newest one of this page, or else the file or line.

    A document that is read is not registered. Raise InputError if there is no such document.
    """
    if is_document_id(name) or url_identity(name):
        key, record = await Ask(detector).find(name)
        return StoredDocument(key, record, await detector.index.documents.text_of(record))
    document = document_of(read_single(name, detector.settings), detector)
    if detector.embedding is not None:
        document = await detector.embedding.ask(document)
    return as_stored(detector, document)


def as_stored(detector: NearDupDetector, document: Document) -> StoredDocument:
    """Return a document as a store would keep it. It is not registered."""
    fingerprint = detector.sketcher.fingerprint(document)
    return StoredDocument(
        bytes.fromhex(document.id),
        new_record(fingerprint, document),
        StoredText.of(document.title, document.text),
        fingerprint,
    )


def explain_pair(detector: NearDupDetector, first: StoredDocument, second: StoredDocument) -> Answer:
    """Judge the second document as if the window held only the first one. Return how the two compare, and why.

    ``resemblance`` and ``containment`` are estimated, in [0, 1]; ``score`` is compared with thresholds. ``share`` of
    the second text is in the first one: None if that is no match. ``terms`` are those that the topics share, as words
    of the second: those that add most come first. ``sentences`` differ: each is given as in the first text ("" if it
    has none like it), as in the second, and with what differs.
    """
    judge = detector.index.partition.judge
    texts = {first.key: first.kept} if first.kept else {}
    pair = Pair(first.key, second.record, first.record, judge.policy)
    decision = judge.decide(second.document, second.record, [pair], texts)
    judged = decision.verdict
    notes = []
    for name, each in (("A", first), ("B", second)):
        if each.record.is_boilerplate:
            notes.append(f"all of {name} is boilerplate: only the same page matches")
        elif each.record.is_too_short:
            notes.append(f"{name} is too short to compare: only exact repeats match")
    weight = _weight_of_shared_keys(first, second)
    if weight is not None:
        notes.append(str(weight))
        if not weight.is_reached:
            notes.append("so they are never compared; if they were:")
            judged = judge.decide(second.document, second.record, []).verdict
    match = decision.match and decision.match.pair
    compared = match and match.comparison
    return {
        "status": judged.status,
        "kind": judged.kind,
        "why": [*notes, *decision.trace],
        "resemblance": pair.likeness.similarity,
        "containment": pair.likeness.containment,
        "score": pair.likeness.score,
        "share": match and match.share,
        "terms": shared_words(second.record.topic, first.record.topic, second.document.title, second.document.text),
        "changes": decision.verdict.changes,
        "sentences": [(each.partner, each.text, each.shown) for each in compared.differing] if compared else [],
    }


def _weight_of_shared_keys(first: StoredDocument, second: StoredDocument) -> Measured | None:
    """Return by which weight an index would find the first document, None if a document is of a window."""
    if first.fingerprint is None or second.fingerprint is None:
        return None
    keys = {*first.fingerprint.identity_keys, *first.fingerprint.text_keys}
    own = (*second.fingerprint.identity_keys, *second.fingerprint.text_keys)
    weights = dict(zip(own, weights_of(second.fingerprint), strict=True))
    return Measured(
        "weight of the look-up keys that both have", sum(weights[key] for key in weights.keys() & keys), LEAST_WEIGHT
    )


def _print(sides: list[tuple[str, StoredDocument]], found: Answer) -> None:
    for name, (given, each) in zip("AB", sides, strict=True):
        document = each.document
        title = " ".join(document.title.split())
        if each.fingerprint:  # it was just read
            print_wrapped(f"{name}  {title}", hanging=3)
            print(printable(f"   {given}"))
        else:
            print_wrapped(f"{name}  {document.id}  {_minute(iso(int(document.seen_at)))}  {title}", hanging=3)
            print(printable(f"   {document.url}"))
    verdict = "/".join(filter(None, (found["status"], found["kind"])))
    _print_lines(f"B after A: {verdict}", found["why"])
    print()
    rows = [("resemblance", found["resemblance"]), ("containment", found["containment"])]
    if found["share"] is not None:
        rows.append(("share of B that A holds", found["share"]))
    print_table("", ("", "estimated"), [(name, f"{value:.3f}") for name, value in rows])
    if found["terms"]:
        _print_lines("Terms in common", [", ".join(found["terms"])])
    for old, new, differs in found["sentences"][:_MOST_SENTENCES]:
        shown = {"A": old or "no such sentence", "B": new} | ({} if differs == new else {"differs": differs})
        _print_lines("A sentence differs", [f"{name}: {one_line(each, 300)}" for name, each in shown.items()])
    if (left := len(found["sentences"]) - _MOST_SENTENCES) > 0:
        print(f"\nand {counted(left, 'other sentence')}: see --json")


def _print_lines(title: str, lines: Sequence[str]) -> None:
    if lines:
        PlainConsole().print(f"\n{title}", style="bold")
    for line in lines:
        print_wrapped(line, 2)


def _minute(time: str) -> str:
    return f"{time[:16].replace('T', ' ')} UTC"


async def _list_similar(options: Options, values: Values) -> int:
    async with live_detector(options, values) as detector:
        answer = await coverage_of(detector, options.a)
        if not answer["story"]:
            await explain_emptiness(detector)
    rows = [
        *({"like": "copy", **row} for row in answer["copies"]),
        *({"like": "related", **row} for row in answer["reports"]),
    ]
    if options.json:
        for row in rows:
            print_json(row)
        return 0
    print(printable(f"{counted(len(rows), 'document')} like {options.a}, of {counted(answer['owners'], 'owner')}"))
    for row in rows:
        # No url is broken, so that it can be copied.
        why = f" by {row['why']}" if row["why"] else ""
        print()
        print_wrapped(f"{_minute(row['time'])}  {row['like']}{why}  {row['title']}", hanging=4)
        print(printable(f"    {row['url'] or row['id']}"))
    return 0
