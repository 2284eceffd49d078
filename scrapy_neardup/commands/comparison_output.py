"""Print the comparison of two documents: of their texts, or only of their fingerprints."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, fields

from scrapy_neardup.commands.terminal import PlainConsole, print_json, print_table
from scrapy_neardup.document import counted, printable
from scrapy_neardup.evidence.topic import FEWEST_DOCUMENTS
from scrapy_neardup.lab.comparison import Comparison
from scrapy_neardup.lab.passages import Passage
from scrapy_neardup.lab.registered import Registered, SketchComparison
from scrapy_neardup.lab.topics import TopicComparison

_PASSAGES = 5
_WORDS = 60


def show_sketches(options: argparse.Namespace, a: Registered, b: Registered, found: SketchComparison) -> None:
    """Print what the fingerprints of two documents tell."""
    note = (
        "compared by fingerprints: the window keeps no texts. To see the common text, give files, or urls with --fetch"
    )
    matches = {"match_of_first": found.match_of_first, "match_of_second": found.match_of_second}
    if options.json:
        documents = {"a": a, "b": b, **matches}
        values = {each.name: getattr(found, each.name) for each in fields(found)}
        topic = None if found.topic is None else {**found.topic._asdict(), "score": found.topic.score}
        print_json({**values, "topic": topic, **{name: _named(each) for name, each in documents.items()}, "note": note})
        return
    console = PlainConsole()
    for side, each in (("A", a), ("B", b)):
        title = " ".join(each.title.split())
        console.print_indented(f"{side}  {each.id}  {each.seen_at[:16].replace('T', ' ')} UTC  {title}", 0, hanging=3)
        print(printable(f"   {each.url}"))
    _print_verdict(console, found.status, found.kind, found.why)
    share = [] if found.share is None else [("share of B that A holds", f"{found.share:.3f}")]
    measures = [("resemblance", f"{found.resemblance:.3f}"), ("containment", f"{found.containment:.3f}"), *share]
    print_table("", ("", "estimated"), measures)
    if found.topic is not None:
        _print_topic_score(console, *found.topic)
        if found.title_terms:
            console.print_indented(f"terms in common that a title has: {', '.join(found.title_terms)}", hanging=2)
    _print_lines(console, "Figures", found.changes)
    console.print()
    for side, match in zip("AB", matches.values(), strict=True):
        _print_match(console, side, match, {a.id: "A", b.id: "B"})
    console.print_indented(f"These two were {note}.", 0)


def _print_match(console: PlainConsole, side: str, match: Registered | None, names: dict[str, str]) -> None:
    """Print with which document this one was compared when it came."""
    if match is None:
        return
    if match.id in names:
        console.print_indented(f"When {side} came, its match was {names[match.id]}.", 0)
        return
    console.print_indented(f"When {side} came, its match was {match.id}: {' '.join(match.title.split())}", 0, hanging=3)
    print(printable(f"   {match.url}"))


def _named(document: Registered | None) -> dict[str, str] | None:
    return None if document is None else {"id": document.id, "url": document.url, "title": document.title}


def _print_verdict(console: PlainConsole, status: str, detail: str | None, why: Iterable[str]) -> None:
    console.print(f"\nB after A: {status}{f'/{detail}' if detail else ''}", style="bold")
    for line in why:
        console.print_indented(line, hanging=2)
    console.print()


def show_comparison(options: argparse.Namespace, comparison: Comparison) -> None:
    """Print what two texts share, and why the second gets its verdict."""
    if options.json:
        print_json({"a": options.a, "b": options.b, **asdict(comparison)})
        return
    console = PlainConsole()
    print(printable(f"A  {options.a}\nB  {options.b}"))
    verdict = comparison.verdict
    _print_verdict(console, verdict.status, verdict.kind or verdict.reason, comparison.why)
    measures = (
        ("resemblance", f"{comparison.resemblance:.3f}", f"{comparison.exact_resemblance:.3f}"),
        ("containment", f"{comparison.containment:.3f}", f"{comparison.exact_containment:.3f}"),
        ("bands in common", f"{comparison.shared_bands} of {comparison.bands}", ""),
    )
    print_table("", ("", "estimated", "exact"), measures)
    sides = {"A": comparison.first, "B": comparison.second}
    rows = []
    for name, side in sides.items():
        own = sum(passage.words for passage in side.own)
        rows.append((name, side.words, side.words - own, own, side.shingles, len(side.left_out)))
    headings = ("", "words", "in both", "only here", "shingles", "lines left out")
    print_table("", headings, rows)
    if comparison.topic is not None:
        _print_topic(console, comparison.topic)
    _print_passages(console, "In both", comparison.shared)
    for name, side in sides.items():
        _print_passages(console, f"Only in {name}", side.own)
    _print_lines(console, "Figures", verdict.changes)
    for name, side in sides.items():
        lines = [f"[{left_out.why}] {_shortened(left_out.line)}" for left_out in side.left_out]
        _print_lines(console, f"Left out of {name}", lines)


def _print_topic(console: PlainConsole, topic: TopicComparison) -> None:
    """Print the parts of the score of the topics, and the terms."""
    _print_topic_score(console, topic.from_terms, topic.from_titles)
    for line in _learned(topic):
        console.print_indented(line, hanging=2)
    rows = [
        (
            *(term.first, term.second, f"{term.weight_in_first:.2f}", f"{term.weight_in_second:.2f}"),
            "yes" if term.in_both_titles else "",
        )
        for term in topic.terms
    ]
    if rows:
        print_table("", ("term in A", "term in B", "weight in A", "weight in B", "in both titles"), rows)


def _print_topic_score(console: PlainConsole, terms: float, titles: float) -> None:
    console.print(f"\nTopics: {terms + titles:.3f}", style="bold")
    console.print_indented(f"score: {terms:.3f} (terms) + {titles:.3f} (titles)")


def _learned(topic: TopicComparison) -> Iterator[str]:
    """Say from which documents it is known how rare terms are."""
    if not topic.documents:
        yield (
            f"no documents came before, so only names and figures are terms; words join them when {FEWEST_DOCUMENTS}"
            " documents of the language have come: use --seen or --store to see what your crawl sees"
        )
        return
    yield f"how rare terms are is known from {counted(topic.documents, 'document')}: {topic.learned_from}"
    for name, documents in zip("AB", topic.documents_of_language, strict=True):
        if documents < FEWEST_DOCUMENTS:
            yield (
                f"about {documents} of them are in the language of {name}, under {FEWEST_DOCUMENTS}: only its names"
                " and figures are terms"
            )


def _print_lines(console: PlainConsole, title: str, lines: Sequence[str]) -> None:
    if lines:
        console.print(f"\n{title}", style="bold")
    for line in lines:
        console.print_indented(line)


def _print_passages(console: PlainConsole, title: str, passages: Sequence[Passage]) -> None:
    """Print the longest passages in the order of the text."""
    if not passages:
        return
    words = sum(passage.words for passage in passages)
    least = sorted((passage.words for passage in passages), reverse=True)[:_PASSAGES][-1]
    shown = [passage for passage in passages if passage.words >= least][:_PASSAGES]
    lines = [f"({passage.words}) {_shortened(passage.text)}" for passage in shown]
    if len(shown) < len(passages):
        lines.append(f"and {len(passages) - len(shown)} shorter ones")
    _print_lines(console, f"{title}: {counted(words, 'word')} in {counted(len(passages), 'passage')}", lines)


def _shortened(text: str) -> str:
    words = text.split()
    short = text if len(words) <= _WORDS else " ".join(words[:_WORDS]) + " …"
    return short if len(short) <= 10 * _WORDS else short[: 10 * _WORDS] + "…"
