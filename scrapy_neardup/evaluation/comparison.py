"""Two documents side by side: how alike they are, what they share, and why the second gets its verdict."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

from scrapy_neardup.content import decode_html
from scrapy_neardup.detector import NearDupDetector
from scrapy_neardup.document import Document, Fingerprint, Verdict, counted
from scrapy_neardup.evaluation.feed import STDIN, Recorded, WrongLine, read_feed, shown
from scrapy_neardup.evaluation.pages import PageReader
from scrapy_neardup.evaluation.replay import opened
from scrapy_neardup.evaluation.topics import LearnedTerms, TopicComparison, compare_topics
from scrapy_neardup.exceptions import InputError
from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.similarity.likeness import exact_shares, have_same_template, likeness_of
from scrapy_neardup.similarity.verification import is_same_url
from scrapy_neardup.sketch import Body, Sketcher
from scrapy_neardup.sketch.text.reading import Reading, has_unspaced

_TIMEOUT = 20.0  # seconds
_USER_AGENT = "scrapy-neardup (+https://scrapy.org)"
_HTML = re.compile(r"<(?:!doctype|html|head|body|article|div|p)\b", re.IGNORECASE)
_HTML_NAME = re.compile(r"\.(?:x?html|htm)$", re.IGNORECASE)
_HEAD = 4096  # bytes
_NO_TEXTS = {
    b"%PDF-": "a PDF",
    b"PK\x03\x04": "a zip file, such as .docx, .epub or .odt",
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"GIF8": "a picture",
    b"\x1f\x8b": "a gzip file",
    b"\xfd7zXZ": "an xz file",
}
"""By how files begin that people take for articles."""

_JSON_LINES_NAME = re.compile(r"\.(?:jsonl|jl|ndjson)(?:\.gz|\.xz)*$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Passage:
    """A run of words as they stand in the text."""

    text: str
    words: int


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A line of the main content that does not enter the fingerprint, and why."""

    line: str
    why: str


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two documents. ``words`` and ``shingles`` are those that enter the fingerprint."""

    words: int
    shingles: int
    own: tuple[Passage, ...]  # passages that the other one does not have
    left_out: tuple[LeftOut, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """The result. ``verdict`` is the verdict on the second document if the window holds only the first one.

    Resemblance and containment are in [0, 1]: estimated from the signatures, as the store does it, and exact.
    """

    first: Side
    second: Side
    shared: tuple[Passage, ...]  # as they stand in the second
    resemblance: float
    containment: float
    score: float  # compared with the thresholds
    exact_resemblance: float
    exact_containment: float
    shared_bands: int
    bands: int
    topic: TopicComparison | None  # None if the preset compares no topics
    verdict: Verdict
    why: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Given:
    """A document to be compared."""

    text: str
    url: str = ""
    title: str = ""


async def compare(
    first: Given,
    second: Given,
    settings: NearDupSettings,
    seen: Iterable[Given] = (),
    learned: LearnedTerms | None = None,
) -> Comparison:
    """Judge the second document after the first.

    ``seen`` are documents from which boilerplate and the rarity of terms are learned; the window holds none of them.
    ``learned`` are document frequencies of terms to begin with.
    """
    detector = NearDupDetector(replace(settings, store="memory://", shards=1))
    now = 1_000_000_000.0
    documents = [
        detector.document(given.text, url=given.url, title=given.title, seen_at=now + number)
        for number, given in enumerate((first, second))
    ]
    topics = detector.sketcher.topics
    if topics is not None and learned is not None:
        topics.frequencies = learned.frequencies
    for given in seen:
        detector.sketcher.fingerprint(detector.document(given.text, title=given.title, seen_at=now))
    before = deepcopy(topics.frequencies) if topics is not None else None
    async with opened(detector):
        verdict = (await detector.check_in_order(documents))[1]
        bodies = [detector.sketcher.body(document.text) for document in documents]
    if topics is not None and before is not None:  # weigh the terms as the check did
        topics.frequencies = deepcopy(before)
        learned = LearnedTerms(before, learned.source if learned else "no documents")
    return _comparison(detector, documents, bodies, verdict, learned)


def _comparison(
    detector: NearDupDetector,
    documents: Sequence[Document],
    bodies: Sequence[Body],
    verdict: Verdict,
    learned: LearnedTerms | None,
) -> Comparison:
    sketcher, preset = detector.sketcher, detector.preset
    prints = [sketcher.fingerprint(document) for document in documents]
    estimated = likeness_of(prints[0], prints[1], preset.measure, preset.collisions)
    sets = [set(sketcher.shingles(body).tolist()) for body in bodies]
    passages = [_passages(sketcher, one, other) for one, other in (bodies, bodies[::-1])]
    first, second = (
        Side(
            words=body.words,
            shingles=len(shingles),
            own=tuple(passage for is_shared, passage in found if not is_shared),
            left_out=tuple(_left_out(sketcher, body)),
        )
        for body, shingles, found in zip(bodies, sets, passages, strict=True)
    )
    exact_resemblance, exact_containment = exact_shares(*sets)
    comparison = Comparison(
        first=first,
        second=second,
        shared=tuple(passage for is_shared, passage in passages[1] if is_shared),
        resemblance=estimated.similarity,
        containment=estimated.containment,
        score=estimated.score,
        exact_resemblance=exact_resemblance,
        exact_containment=exact_containment,
        shared_bands=len(set(prints[0].band_keys) & set(prints[1].band_keys)),
        bands=preset.bands,
        topic=compare_topics(documents, prints, preset.topic_threshold, learned)
        if preset.topic_terms and learned
        else None,
        verdict=verdict,
        why=(),
    )
    return replace(comparison, why=tuple(_why(comparison, detector, prints)))


def _left_out(sketcher: Sketcher, body: Body) -> Iterator[LeftOut]:
    for line in body.short:
        yield LeftOut(line.text, f"{counted(line.words, 'word')}, under {sketcher.preset.min_block_words}")
    for line in body.lines:
        if line.key in body.boilerplate:
            yield LeftOut(line.text, "boilerplate: in several different stories")


def _passages(sketcher: Sketcher, body: Body, other: Body) -> list[tuple[bool, Passage]]:
    """Cut the text into runs of words that lie in a shingle of both texts, and runs of words that do not."""
    width = sketcher.shingle_width(body)
    pieces = list(_pieces(body.text))
    found = [(token, number) for number, piece in enumerate(pieces) for token in Reading.of(piece).tokens()]
    owners = [number for _, number in found]
    in_other = set(_windows(other.tokens, width))
    windows = enumerate(_windows([token for token, _ in found], width))
    shared = {number for start, each in windows if each in in_other for number in owners[start : start + width]}
    marks: list[bool] = []
    with_words = set(owners)
    for number in range(len(pieces)):  # a dash goes with the word before it
        marks.append(number in shared if number in with_words or not marks else marks[-1])
    passages = []
    for is_shared, numbers in groupby(range(len(pieces)), key=marks.__getitem__):
        run = list(numbers)
        text = " ".join("".join(pieces[run[0] : run[-1] + 1]).split())
        passages.append((is_shared, Passage(text, len(with_words.intersection(run)))))
    return passages


def _windows(tokens: Sequence[str], width: int) -> Iterator[tuple[str, ...]]:
    return zip(*(tokens[start:] for start in range(width)), strict=False)


def _pieces(text: str) -> Iterator[str]:
    """Yield words, and single characters of scripts written without spaces, each with the white space before it."""
    for chunk in re.findall(r"\s*\S+", text):
        if not has_unspaced(chunk):
            yield chunk
            continue
        for unspaced, run in groupby(chunk, key=has_unspaced):
            piece = "".join(run)
            yield from piece if unspaced else (piece,)


def _why(comparison: Comparison, detector: NearDupDetector, prints: Sequence[Fingerprint]) -> Iterator[str]:
    """Yield the rules that led to the verdict, in the order they are applied."""
    settings, verdict = detector.settings, comparison.verdict
    for name, side, fingerprint in zip("AB", (comparison.first, comparison.second), prints, strict=True):
        if not fingerprint.signature:
            yield (
                f"{name} has {counted(side.words, 'word')}, under NEARDUP_MIN_WORDS = {settings.min_words}:"
                " only exact repeats match"
            )
    same_text = prints[0].text_hash == prints[1].text_hash
    if is_same_url(prints[0], prints[1]):
        yield f"the same url, with {'the same' if same_text else 'another'} text"
    elif same_text:
        yield "the same text, except for case and punctuation"
    elif all(fingerprint.signature for fingerprint in prints):
        yield _score_against_thresholds(comparison, detector, prints)
    if verdict.status == "update" and verdict.changes:
        yield f"figures changed: {'; '.join(verdict.changes)}"
    if verdict.kind in ("near", "abridged", "extended") and comparison.containment:
        ratio = comparison.resemblance / comparison.containment
        yield f"resemblance is {ratio:.2f} of containment: {_KIND_MEANS[verdict.kind]}"


_KIND_MEANS = {
    "near": "about the same length",
    "abridged": "the match holds nearly all of it",
    "extended": "it holds its match and adds to it",
}


def _score_against_thresholds(comparison: Comparison, detector: NearDupDetector, prints: Sequence[Fingerprint]) -> str:
    preset, verdict, score = detector.preset, comparison.verdict, comparison.score
    exact = {"containment": comparison.exact_containment, "resemblance": comparison.exact_resemblance}
    named = f"{preset.measure} {score:.2f}"
    copy = f"NEARDUP_THRESHOLD = {preset.threshold:g}"
    related = f"NEARDUP_RELATED_THRESHOLD = {preset.related_threshold:g}"
    if verdict.status == "related" and score < preset.related_threshold and comparison.topic:
        topic = comparison.topic
        reached = f"the topics score {topic.score:.2f} >= {topic.needed:g}"
        return f"{named} < {related}, but {reached}: the same story, not a copy"
    if verdict.original is None and not comparison.shared_bands:
        share = exact.get(preset.measure, -1.0)
        missed = f", though the exact {preset.measure} is {share:.2f}" if share >= preset.threshold else ""
        by_topic = _why_not_by_topic(comparison.topic)
        return f"none of {comparison.bands} bands in common{by_topic}: never compared{missed}"
    if score < preset.related_threshold:
        return f"{named} < {related}{_why_not_by_topic(comparison.topic)}: another story"
    if have_same_template(prints[0].specifics, prints[1].specifics):
        return f"{named} would be enough, but names and figures between the same words differ: reports of one template"
    if verdict.original is None and comparison.topic and comparison.topic.score < comparison.topic.needed_support:
        support = f"the topics score {comparison.topic.score:.2f} < {comparison.topic.needed_support:g}"
        return f"{named} would be enough, but {support}: a part that unrelated texts share"
    if verdict.original is None:
        return (
            f"{named} would be enough, but another rule excludes the match (NEARDUP_SCOPE = {detector.settings.scope})"
        )
    if score >= preset.threshold:
        return f"{named} >= {copy}: a copy"
    return f"{named} < {copy}, but >= {related}: the same story, not a copy"


def _why_not_by_topic(topic: TopicComparison | None) -> str:
    if topic is None:
        return ""
    if topic.score >= topic.needed:
        return f", and the heaviest terms of the topics have {topic.shared_keys} in common, under 2"
    return f", and the topics score {topic.score:.2f} < {topic.needed:g}"


def read_single(name: str, settings: NearDupSettings) -> Given:
    """Return main content, url and title of the named document. Raise InputError, which repeats the name."""
    with PageReader(settings, workers=1) as reader:
        (page,) = reader.read([_find(name, settings)])
    if isinstance(page, WrongLine) or page.error is not None:
        raise InputError(page.error)
    return Given(page.text, page.recorded.url, page.recorded.title)


def _find(name: str, settings: NearDupSettings) -> Recorded | WrongLine:
    if name == str(STDIN):
        return _recorded(shown(STDIN), sys.stdin.buffer.read(settings.max_html_bytes + 1))
    if name.startswith(("http://", "https://")):
        return _recorded(name, *_fetch(name, settings.max_html_bytes), url=name)
    path = Path(name)
    if path.is_file():
        if _JSON_LINES_NAME.search(name):
            raise InputError(f"{name}: a file of JSON lines holds many documents; name one as {name}#id")
        try:
            return _recorded(name, path.read_bytes())
        except OSError as error:
            raise InputError(f"{name}: cannot be read: {error.strerror}") from error
    for mark in re.finditer("#", name):
        path = Path(name[: mark.start()])
        if path.is_file():
            return _line(path, name[mark.end() :])
    raise InputError(
        f"{name}: there is no such file; a document is a file, -, an http(s) url, or INPUT#id of JSON lines"
    )


def _fetch(url: str, most: int) -> tuple[bytes, str | None]:
    """Return body and content type."""
    from http.client import HTTPException
    from urllib.request import Request, urlopen

    try:
        request = Request(url, headers={"User-Agent": _USER_AGENT, "Accept-Encoding": "identity"})
        with urlopen(request, timeout=_TIMEOUT) as response:
            body, content_type = response.read(most + 1), response.headers.get("Content-Type")
    except (OSError, HTTPException, ValueError) as error:
        raise InputError(f"{url}: cannot be fetched: {error}") from error
    if len(body) > most:
        raise InputError(f"{url}: over NEARDUP_MAX_HTML_BYTES = {most}")
    return body, content_type


def _recorded(name: str, body: bytes, content_type: str | None = None, url: str = "") -> Recorded:
    kind = next((kind for magic, kind in _NO_TEXTS.items() if body.startswith(magic)), "")
    is_utf_16 = body.startswith((b"\xff\xfe", b"\xfe\xff"))
    if kind or (b"\0" in body[:_HEAD] and not is_utf_16):
        raise InputError(f"{name}: is {kind or 'binary data'}, and not HTML or text; convert it to text first")
    content = decode_html(body, content_type)
    is_html = _HTML_NAME.search(name) or _HTML.search(content[:4096])
    text, html = (None, content) if is_html else (content, None)
    return Recorded(1, name, name, url, "", None, text, html, None)


def _line(path: Path, wanted: str) -> Recorded | WrongLine:
    first = None
    for entry in read_feed(path):
        if str(entry.id) == wanted:
            return entry
        if entry.id and (first is None or str(entry.line) == wanted):  # perhaps a line was meant
            first = entry
    if first is None:
        raise InputError(f"{path}: the file has no document with an id")
    raise InputError(f"{path}: no line has the id {wanted!r}; line {first.line} has the id {str(first.id)!r}")
