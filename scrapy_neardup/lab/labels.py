"""Recorded documents with the clusters that people sorted them into. All wrong lines are reported at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from scrapy_neardup.exceptions import InputError
from scrapy_neardup.lab.feed import RecordedDocument, read_feed, shown
from scrapy_neardup.lab.pages import RecordedPage

DEFAULT_LABEL = "cluster"
_SHOWN = 20  # errors listed; the others are counted


class Labelled(NamedTuple):
    """Documents, and for each label the cluster of each document; both in the order of the file."""

    documents: list[RecordedDocument]
    clusters: dict[str, list[str]]


class LabelledPages(NamedTuple):
    """Pages with their main content, the labelled ones first. The cluster of a background page is None."""

    pages: list[RecordedPage]
    clusters: list[str | None]
    labelled: int  # number of pages with labels
    left_out: list[str]  # lines of the background that are labelled documents

    @property
    def background(self) -> int:
        return len(self.pages) - self.labelled

    @property
    def has_copies(self) -> bool:
        """Return whether a cluster has two documents."""
        return self.cluster_count < self.labelled

    @property
    def errors(self) -> int:
        """Return the number of pages that could not be read or extracted."""
        return sum(page.error is not None for page in self.pages)

    @property
    def cluster_count(self) -> int:
        return len(set(self.clusters[: self.labelled]))


def read_labelled(path: Path, labels: Sequence[str] = (DEFAULT_LABEL,)) -> Labelled:
    """Read labelled documents. Raise InputError, which names file and lines, if a label is missing or wrong.

    Every line needs every label, which is a text or a whole number. Ids are unique.
    """
    documents = _documents(path)
    if not documents:
        raise InputError(f"{shown(path)}: the file has no documents")
    if missing := [label for label in labels if all(label not in document.extra for document in documents)]:
        keys = ", ".join(sorted(set().union(*(document.extra for document in documents)))) or "no other"
        raise InputError(f"{shown(path)}: no line has the label {missing[0]!r}; choose another with --label: {keys}")
    _require_none(_label_errors(documents, labels), path)
    return Labelled(documents, {label: [str(each.extra[label]) for each in documents] for label in labels})


def read_background(paths: Iterable[Path]) -> list[RecordedDocument]:
    """Return the documents of several files without their labels. Raise InputError if a line is wrong."""
    return [document for path in paths for document in _documents(path)]


def without_labelled(
    background: Sequence[RecordedDocument], labelled: Sequence[RecordedDocument]
) -> tuple[list[RecordedDocument], list[str]]:
    """Return the background without the labelled documents, and the file and line of each document that is left out.

    Two documents are one if they have the same url, or the same text, HTML or file.
    """
    known = {key for document in labelled for key in _identities(document)}
    kept = [document for document in background if known.isdisjoint(_identities(document))]
    return kept, [document.where for document in background if not known.isdisjoint(_identities(document))]


def _identities(document: RecordedDocument) -> Iterator[tuple[str, str]]:
    file = "" if document.file is None else str(document.file.resolve())
    for kind, value in (("url", document.url), ("text", document.text), ("html", document.html), ("file", file)):
        if value:
            yield kind, value


def _documents(path: Path) -> list[RecordedDocument]:
    """Return the documents of a file. Raise InputError if a line is wrong."""
    documents = list(read_feed(path))
    _require_none([each.error for each in documents if each.error is not None], path)
    return documents


def _label_errors(documents: Sequence[RecordedDocument], labels: Sequence[str]) -> Iterator[str]:
    first: dict[str | int | None, int] = {}
    for document in documents:
        for label in labels:
            value = document.extra.get(label)
            if value is None or value == "":
                yield f"{document.where}: the label {label!r} is missing"
            elif isinstance(value, bool) or not isinstance(value, str | int):
                yield f"{document.where}: the label {label!r} must be a text or a whole number, not {value!r}"
        if (line := first.setdefault(document.id, document.line)) != document.line:
            yield f"{document.where}: line {line} has the same id {document.id!r}"


def _require_none(errors: Iterable[str], path: Path) -> None:
    """Raise InputError, which lists the first errors and counts the others, if there are any."""
    if lines := list(errors):
        more = len(lines) - _SHOWN
        raise InputError("\n".join([*lines[:_SHOWN], *([f"{shown(path)}: and {more} more"] if more > 0 else [])]))
