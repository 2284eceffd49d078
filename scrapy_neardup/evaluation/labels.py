"""Recorded documents with the clusters that people sorted them into. All wrong lines are reported at once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from scrapy_neardup.evaluation.feed import Recorded, WrongLine, read_feed
from scrapy_neardup.exceptions import InputError

DEFAULT_LABEL = "cluster"
_SHOWN = 20  # errors listed; the others are counted


@dataclass(frozen=True, slots=True)
class Labelled:
    """Documents, and for each label the cluster of each document; both in the order of the file."""

    documents: tuple[Recorded, ...]
    clusters: dict[str, tuple[str, ...]]


def read_labelled(path: Path, labels: Sequence[str] = (DEFAULT_LABEL,)) -> Labelled:
    """Read labelled documents. Raise InputError, which names file and lines, if a label is missing or wrong.

    Every line needs every label, which is a text or a whole number. Ids are unique. ``original`` is true or false, and
    true on the first document of each cluster. Other labels join whole clusters of ``cluster``, and do not cross.
    """
    documents, errors = _usable(path)
    if not errors:
        missing = [label for label in labels if all(label not in document.extra for document in documents)]
        if missing and documents:
            keys = ", ".join(sorted(set().union(*(document.extra for document in documents)))) or "no other"
            raise InputError(f"{path}: no line has the label {missing[0]!r}; there is {keys} (--label KEY)")
        errors = [*_wrong_values(documents, labels), *_duplicate_ids(documents)]
    if not errors:
        clusters = {label: [str(document.extra[label]) for document in documents] for label in labels}
        errors = [*_without_original(documents, clusters), *_crossing(documents, clusters)]
    if errors:
        raise InputError("\n".join(_listed(path, errors)))
    if not documents:
        raise InputError(f"{path}: the file has no documents")
    return Labelled(tuple(documents), {label: tuple(names) for label, names in clusters.items()})


def read_background(paths: Iterable[Path]) -> list[Recorded]:
    """Return the documents of several files without their labels. Raise InputError if a line is wrong."""
    background: list[Recorded] = []
    for path in paths:
        documents, errors = _usable(path)
        if errors:
            raise InputError("\n".join(_listed(path, errors)))
        background += documents
    return background


_Error = tuple[int, str]  # line, what is wrong


def _usable(path: Path) -> tuple[list[Recorded], list[_Error]]:
    documents: list[Recorded] = []
    errors: list[_Error] = []
    for entry in read_feed(path):
        if isinstance(entry, WrongLine):
            errors.append((entry.line, entry.error.removeprefix(f"{path}:{entry.line}: ")))
        else:
            documents.append(entry)
    return documents, errors


def _wrong_values(documents: Sequence[Recorded], labels: Sequence[str]) -> Iterable[_Error]:
    for document in documents:
        for label in labels:
            value = document.extra.get(label)
            if value is None or value == "":
                yield document.line, f"the label {label!r} is missing"
            elif isinstance(value, bool) or not isinstance(value, str | int):
                yield document.line, f"the label {label!r} must be a text or a whole number, not {value!r}"
        original = document.extra.get("original", False)
        if not isinstance(original, bool):
            yield document.line, f"'original' must be true or false, not {original!r}"


def _duplicate_ids(documents: Sequence[Recorded]) -> Iterable[_Error]:
    first: dict[str | int, int] = {}
    for document in documents:
        line = first.setdefault(document.id, document.line)
        if line != document.line:
            yield document.line, f"the id {document.id!r} is also that of line {line}"


def _without_original(documents: Sequence[Recorded], clusters: dict[str, list[str]]) -> Iterable[_Error]:
    for label, names in clusters.items():
        marked = {name for document, name in zip(documents, names, strict=True) if document.extra.get("original")}
        first: dict[str, int] = {}
        for document, name in zip(documents, names, strict=True):
            first.setdefault(name, document.line)
        for name, line in first.items():
            if name not in marked:
                yield line, f"no document of {label} {name!r} has 'original': true; its first document needs it"


def _crossing(documents: Sequence[Recorded], clusters: dict[str, list[str]]) -> Iterable[_Error]:
    """Find clusters that cross. If every line has a ``cluster`` it is the finest label; of two others one is finer."""
    finest = [document.extra.get(DEFAULT_LABEL) for document in documents]
    named = {label: names for label, names in clusters.items() if label != DEFAULT_LABEL}
    if None not in finest:
        for label, names in named.items():
            yield from _splits(documents, (DEFAULT_LABEL, list(map(str, finest))), (label, names))
    for one, other in combinations(named.items(), 2):
        splits = [_splits(documents, one, other), _splits(documents, other, one)]
        if all(splits):
            yield from min(splits, key=len)


def _splits(
    documents: Sequence[Recorded], fine: tuple[str, Sequence[str]], coarse: tuple[str, Sequence[str]]
) -> list[_Error]:
    """Find the clusters of ``fine`` that lie in two clusters of ``coarse``."""
    inside: dict[str, dict[str, int]] = defaultdict(dict)
    for document, name, around in zip(documents, fine[1], coarse[1], strict=True):
        inside[name].setdefault(around, document.line)
    errors = []
    for name, lines in inside.items():
        (first, first_line), *others = lines.items()
        errors += [
            (line, f"{fine[0]} {name!r} is in {coarse[0]} {around!r} here, and in {first!r} on line {first_line}")
            for around, line in others
        ]
    return errors


def _listed(path: Path, errors: list[_Error]) -> Iterable[str]:
    errors.sort()
    for line, what in errors[:_SHOWN]:
        yield f"{path}:{line}: {what}"
    if len(errors) > _SHOWN:
        yield f"{path}: and {len(errors) - _SHOWN} more"
