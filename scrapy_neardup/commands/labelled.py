"""The input of ``eval`` and ``tune``, and the options that name it."""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_neardup.commands.terminal import printable
from scrapy_neardup.exceptions import SettingsError

if TYPE_CHECKING:
    from scrapy_neardup.evaluation.pages import Page
    from scrapy_neardup.settings import NearDupSettings


@dataclass(frozen=True, slots=True)
class LabelledInput:
    """Pages with their main content, the labelled ones first; each label has None for a background page."""

    pages: list[Page]
    clusters: dict[str, list[str | None]]
    labelled: int  # number of pages with labels

    @property
    def errors(self) -> int:
        """Pages that could not be read or extracted."""
        return sum(page.error is not None for page in self.pages)

    @property
    def without_text(self) -> int:
        return sum(page.error is None and not page.text.strip() for page in self.pages[: self.labelled])

    @property
    def cluster_counts(self) -> dict[str, int]:
        return {label: len(set(names[: self.labelled])) for label, names in self.clusters.items()}


def add_input_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "input", metavar="INPUT", type=Path, help="JSON lines as for replay, with a cluster label and 'original': true"
    )
    parser.add_argument(
        "--label", metavar="KEY", action="append", help="the label's key (default: cluster); several with commas"
    )
    parser.add_argument(
        "--background",
        metavar="FILE",
        type=Path,
        nargs="+",
        action="extend",
        default=[],
        help="documents without labels, put in between: a link to one of them is wrong",
    )
    parser.add_argument("--workers", metavar="N", type=int, default=os.cpu_count() or 1, help="extraction processes")
    parser.add_argument("--json", action="store_true", help="one JSON object")


def label_names(options: argparse.Namespace) -> list[str]:
    """Return the labels in the order given, each once."""
    from scrapy_neardup.evaluation.labels import DEFAULT_LABEL

    given = ",".join(options.label or [DEFAULT_LABEL]).split(",")
    names = list(dict.fromkeys(name.strip() for name in given))
    if "" in names:
        raise SettingsError("--label", ",".join(options.label), "must be a key of the input's lines")
    return names


def read_input(options: argparse.Namespace, settings: NearDupSettings) -> LabelledInput:
    """Read labels and pages. A page that cannot be extracted is printed, counted and judged ``unchecked``.

    Raise InputError if the labels are wrong, before any page is extracted.
    """
    from tqdm import tqdm

    from scrapy_neardup.evaluation.labels import read_background, read_labelled
    from scrapy_neardup.evaluation.pages import Page, PageReader

    if options.workers < 1:
        raise SettingsError("--workers", options.workers, "must be 1 or more")
    labelled = read_labelled(options.input, label_names(options))
    background = read_background(options.background)
    documents = [*labelled.documents, *background]
    pages: list[Page] = []
    with PageReader(settings.extractor, settings.max_html_bytes, options.workers) as reader:
        for page in tqdm(reader.read(documents), total=len(documents), unit=" pages", disable=not sys.stderr.isatty()):
            assert isinstance(page, Page)  # wrong lines were errors already
            if page.error is not None:
                tqdm.write(printable(page.error), file=sys.stderr)
            pages.append(page)
    others: list[str | None] = [None] * len(background)
    clusters = {label: [*names, *others] for label, names in labelled.clusters.items()}
    return LabelledInput(pages, clusters, len(labelled.documents))
