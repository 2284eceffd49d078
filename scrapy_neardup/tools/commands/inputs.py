"""Arguments that several commands share, and the documents and the window that they name.

Wrong lines and pages are printed on standard error.
"""

from __future__ import annotations

import argparse
import asyncio
import math
import os
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from scrapy_neardup.content.urls import url_identity
from scrapy_neardup.crawl.file_locations import locate_files
from scrapy_neardup.detector import NearDupDetector
from scrapy_neardup.exceptions import InputError, NoWindowError
from scrapy_neardup.index.upkeep import StoreSummary
from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.tools.ask import Answer, Ask
from scrapy_neardup.tools.commands.terminal import print_error, print_wrapped, track, working
from scrapy_neardup.tools.lab.feed import RecordedDocument, read_background, read_labelled, shown, without_labelled
from scrapy_neardup.tools.lab.replay import PageReader, RecordedPage, opened
from scrapy_neardup.tools.lab.stored import is_document_id, read_single

STDOUT = Path("-")
"""Stands for standard output, wherever a command takes the name of an output file."""


def number(kind: type[int] | type[float], least: float, most: float = math.inf) -> Callable[[str], float]:
    """Return the type of an option that takes numbers from ``least`` to ``most``."""
    allowed = f"{least} or more" if most == math.inf else f"from {least} to {most}"

    def read(value: str) -> float:
        try:
            found = kind(value)
        except ValueError:
            found = math.nan
        if not least <= found <= most:
            raise argparse.ArgumentTypeError(f"must be {allowed}, not {value!r}")
        return found

    return read


def add_json(parser: argparse.ArgumentParser, meaning: str = "one JSON object") -> None:
    parser.add_argument("--json", action="store_true", help=meaning)


def add_workers(parser: argparse.ArgumentParser, meaning: str = "extraction processes") -> None:
    parser.add_argument("--workers", metavar="N", type=number(int, 1), default=os.cpu_count() or 1, help=meaning)


def add_labelled_input(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "input", metavar="INPUT", type=Path, help="JSON lines as for replay, with a cluster label; - is standard input"
    )
    parser.add_argument("--label", metavar="KEY", default="cluster", help="key of the label (default: cluster)")
    parser.add_argument(
        "--background",
        metavar="FILE",
        type=Path,
        nargs="+",
        action="extend",
        default=[],
        help="documents without labels, mixed with the others. A link to one of them counts as wrong. Documents with"
        " the url or the text of a labelled one are left out",
    )
    parser.add_argument(
        "--seeds",
        metavar="N",
        type=number(int, 1),
        default=5,
        help="random orders in which the documents are judged (default: 5)",
    )
    add_workers(parser)
    add_json(parser)


def add_store(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--store", metavar="URL", help="the store (default: NEARDUP_STORE of the project)")
    parser.add_argument("--namespace", metavar="NAME", help="the namespace (default: NEARDUP_NAMESPACE of the project)")


def read_pages(
    reader: PageReader, feed: Iterable[RecordedDocument], total: int | None = None
) -> Iterator[RecordedPage]:
    """Yield the pages of a feed, and show how many have come. Print the error of a wrong line or page."""
    for page in track(reader.read(feed), "documents", total):
        if page.error is not None:
            print_error(page.error)
        yield page


def refuse_overwriting(output: Path, inputs: Iterable[Path]) -> None:
    """Raise InputError if the output is one of the inputs."""
    for path in inputs:
        if output.exists() and path.exists() and output.samefile(path):
            raise InputError(f"{output}: is the input; name another file for the output")


class LabelledPages(NamedTuple):
    """Pages with their main content, the labelled ones first. The cluster of a background page is None."""

    pages: list[RecordedPage]
    clusters: list[str | None]
    labelled: int  # number of pages with labels
    background: int  # number of the others
    cluster_count: int
    errors: int  # pages that could not be read or extracted
    left_out: list[str]  # lines of the background that are labelled documents

    @property
    def has_copies(self) -> bool:
        """Return whether a cluster has two documents."""
        return self.cluster_count < self.labelled


def read_labelled_pages(options: argparse.Namespace, settings: NearDupSettings) -> LabelledPages:
    """Read labels and pages. A page that cannot be extracted is counted and judged ``unchecked``.

    Workers sketch the texts too, so the pages can be judged only with settings that change no sketch.

    Raise InputError if the labels are wrong, before any page is extracted.
    """
    with working("reading labels"):
        labelled, clusters = read_labelled(options.input, options.label)
        background, left_out = without_labelled(read_background(options.background), labelled)
        documents = [*labelled, *background]
    if left_out:
        said = (
            f"{left_out[0]}: this document of --background is labelled too (the same url or text), so it is left out"
            f" of the background. Documents left out: {len(left_out)}"
        )
        print_wrapped(said, stderr=True)
    if len(documents) < 2:
        raise InputError(f"{shown(options.input)}: a single document makes no pair, so there is nothing to measure")
    with PageReader(settings, options.workers, sketches=True) as reader:
        pages = list(read_pages(reader, documents, len(documents)))
    errors = sum(page.error is not None for page in pages)
    counts = len(clusters), len(background), len(set(clusters)), errors
    return LabelledPages(pages, [*clusters, *[None] * len(background)], *counts, left_out)


def with_store(options: argparse.Namespace, values: dict[str, Any]) -> dict[str, Any]:
    """Return the values of settings with ``--store`` and ``--namespace``."""
    given = {"NEARDUP_STORE": options.store, "NEARDUP_NAMESPACE": options.namespace}
    return {**values, **{name: each for name, each in given.items() if each}}


def located_settings(options: argparse.Namespace, values: dict[str, Any]) -> NearDupSettings:
    """Return the settings with the places of files.

    A path of ``--store`` is relative to the current directory, one in the settings to the data directory.
    """
    settings = NearDupSettings.from_mapping(with_store(options, values))
    located = locate_files(settings, values)
    return replace(located, store=settings.store) if options.store else located


@asynccontextmanager
async def live_detector(options: argparse.Namespace, values: dict[str, Any]) -> AsyncIterator[NearDupDetector]:
    """Open a detector on the window of the options, or else of the settings. Raise NoWindowError if there is none.

    Nothing that the detector learns from documents of the command goes to the store.
    """
    settings = located_settings(options, values)
    scheme, _, path = settings.store.partition(":///")
    if scheme == "sqlite" and not (os.path.exists(path) and os.path.getsize(path)):  # noqa: ASYNC240
        # Opening it would make an empty window.
        raise NoWindowError(
            f"{path}: no crawl has kept a window there; the first crawl makes it. If your spider has a NEARDUP_STORE in"
            " its custom_settings, give that with --store (a path is relative to the current directory)"
        )
    if settings.store == "memory://":
        raise NoWindowError(
            "memory://: such a window ends with its process, so there is nothing to see; name another one"
        )
    async with opened(NearDupDetector(settings)) as detector:
        try:
            yield detector
        finally:
            detector.discard_learned()


async def coverage_of(detector: NearDupDetector, name: str) -> Answer:
    """Return who reports on the event of a document: one of the window by its url or id, or else a file or a line."""
    ask = Ask(detector)
    if is_document_id(name):
        return await ask.coverage(document=name)
    if url_identity(name):
        return await ask.coverage(url=name)
    page = await asyncio.to_thread(read_single, name, detector.settings)
    return await ask.coverage(page.text, title=page.title, url=page.recorded.url)


async def explain_emptiness(detector: NearDupDetector, summary: StoreSummary | None = None) -> None:
    """Say on standard error if the window is empty, and where documents are. Its namespace may be mistyped."""
    summary = summary or await detector.index.summary()
    if summary.documents:
        return
    message = f"The window of namespace {summary.namespace!r} in {summary.location} is empty."
    if summary.other_configs:
        message += (
            " It has documents of other configurations: were they crawled with the same preset and settings, and the"
            " same version of the extractor?"
        )
    elif summary.namespaces:
        message += f" This store has the namespaces {', '.join(summary.namespaces)}."
    print_error(message)
