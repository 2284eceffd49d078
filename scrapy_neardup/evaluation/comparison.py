"""Two documents side by side: how alike they are, what they share, and why the second gets its verdict."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from scrapy_neardup.detector import NearDupDetector
from scrapy_neardup.document import Document, Fingerprint, Verdict
from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.similarity.likeness import exact_shares, have_same_template, likeness_of, topic_share
from scrapy_neardup.similarity.verification import is_same_url
from scrapy_neardup.sketch import Body, Sketcher
from scrapy_neardup.sketch.text.reading import Reading, has_unspaced


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
    """The result. ``verdict`` is that on the second document if the window holds only the first.

    Resemblance and containment are in [0, 1]: estimated from the signatures, as the store does it, and exact.
    """

    first: Side
    second: Side
    shared: tuple[Passage, ...]  # as they stand in the second
    resemblance: float
    containment: float
    score: float  # what the thresholds are compared with
    exact_resemblance: float
    exact_containment: float
    shared_bands: int
    bands: int
    verdict: Verdict
    why: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Given:
    """A document to be compared."""

    text: str
    url: str = ""
    title: str = ""


async def compare(first: Given, second: Given, settings: NearDupSettings, seen: Iterable[str] = ()) -> Comparison:
    """Judge the second document after the first.

    ``seen`` are texts from which boilerplate is learned; the window holds none of them.
    """
    detector = NearDupDetector(replace(settings, store="memory://", shards=1))
    now = 1_000_000_000.0
    documents = [
        detector.document(given.text, url=given.url, title=given.title, seen_at=now + number)
        for number, given in enumerate((first, second))
    ]
    for text in seen:
        detector.sketcher.sketch(text)
    await detector.open()
    try:
        verdict = (await detector.check_in_order(documents))[1]
        bodies = [detector.sketcher.body(document.text) for document in documents]
    finally:
        await detector.close()
    return _comparison(detector, documents, bodies, verdict)


def _comparison(
    detector: NearDupDetector, documents: Sequence[Document], bodies: Sequence[Body], verdict: Verdict
) -> Comparison:
    sketcher, preset, (a, b) = detector.sketcher, detector.preset, bodies
    prints = [sketcher.fingerprint(document) for document in documents]
    estimated = likeness_of(prints[0], prints[1], preset.measure, preset.collisions)
    sets = [set(sketcher.shingles(body).tolist()) for body in bodies]
    passages = [_passages(sketcher, one, other) for one, other in ((a, b), (b, a))]
    exact_resemblance, exact_containment = exact_shares(*sets)
    comparison = Comparison(
        first=_side(sketcher, a, len(sets[0]), passages[0]),
        second=_side(sketcher, b, len(sets[1]), passages[1]),
        shared=tuple(passage for is_shared, passage in passages[1] if is_shared),
        resemblance=estimated.similarity,
        containment=estimated.containment,
        score=estimated.score,
        exact_resemblance=exact_resemblance,
        exact_containment=exact_containment,
        shared_bands=len(set(prints[0].band_keys) & set(prints[1].band_keys)),
        bands=preset.bands,
        verdict=verdict,
        why=(),
    )
    return replace(comparison, why=tuple(_why(comparison, detector, prints)))


def _side(sketcher: Sketcher, body: Body, shingles: int, passages: Sequence[tuple[bool, Passage]]) -> Side:
    return Side(
        words=body.words,
        shingles=shingles,
        own=tuple(passage for is_shared, passage in passages if not is_shared),
        left_out=tuple(_left_out(sketcher, body)),
    )


def _left_out(sketcher: Sketcher, body: Body) -> Iterator[LeftOut]:
    for line in body.short:
        yield LeftOut(line.text, f"{line.words} words, under {sketcher.preset.min_block_words}")
    for line in body.lines:
        if line.key in body.boilerplate:
            yield LeftOut(line.text, "boilerplate: in several different stories")


def _passages(sketcher: Sketcher, body: Body, other: Body) -> list[tuple[bool, Passage]]:
    """Cut the text into runs of words that lie in a shingle of both texts, and runs of words that do not."""
    width = sketcher.shingle_width(body)
    pieces = list(_pieces(body.text))
    tokens: list[str] = []
    owners: list[int] = []
    for number, (piece, _) in enumerate(pieces):
        found = Reading.of(piece).tokens()
        tokens += found
        owners += [number] * len(found)
    in_other = set(_windows(other.tokens, width))
    shared: set[int] = set()
    for start, window in enumerate(_windows(tokens, width)):
        if window in in_other:
            shared.update(owners[start : start + width])
    marks: list[bool] = []
    with_words = set(owners)
    for number in range(len(pieces)):  # a dash goes with the word before it
        marks.append(number in shared if number in with_words or not marks else marks[-1])
    runs = groupby(range(len(pieces)), key=marks.__getitem__)
    return [(is_shared, _passage(pieces, list(run), owners)) for is_shared, run in runs]


def _windows(tokens: Sequence[str], width: int) -> Iterator[tuple[str, ...]]:
    return zip(*(tokens[start:] for start in range(width)), strict=False)


def _pieces(text: str) -> Iterator[tuple[str, bool]]:
    """Yield words, or characters of an unspaced script, and whether each follows the one before without a space."""
    for chunk in text.split():
        if not has_unspaced(chunk):
            yield chunk, False
            continue
        follows = False
        for unspaced, run in groupby(chunk, key=has_unspaced):
            for piece in run if unspaced else ("".join(run),):
                yield piece, follows
                follows = True


def _passage(pieces: Sequence[tuple[str, bool]], run: Sequence[int], owners: Sequence[int]) -> Passage:
    text = "".join(piece if follows else f" {piece}" for piece, follows in (pieces[number] for number in run))
    return Passage(text.strip(), len(set(run).intersection(owners)))


def _why(comparison: Comparison, detector: NearDupDetector, prints: Sequence[Fingerprint]) -> Iterator[str]:
    """Yield the rules that led to the verdict, in the order they are applied."""
    settings, verdict = detector.settings, comparison.verdict
    for name, side, fingerprint in zip("AB", (comparison.first, comparison.second), prints, strict=True):
        if not fingerprint.signature:
            yield f"{name} has {side.words} words, under NEARDUP_MIN_WORDS = {settings.min_words}: exact repeats alone"
    same_text = prints[0].text_hash == prints[1].text_hash
    if is_same_url(prints[0], prints[1]):
        yield f"the same url, with {'the same' if same_text else 'another'} text"
    elif same_text:
        yield "the same text, but for case and punctuation"
    elif all(fingerprint.signature for fingerprint in prints):
        template = have_same_template(prints[0].specifics, prints[1].specifics)
        topic = topic_share(prints[0].topic, prints[1].topic)
        yield from _score_against_thresholds(comparison, detector, comparison.score, template, topic)
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


def _score_against_thresholds(
    comparison: Comparison, detector: NearDupDetector, score: float, template: bool, topic: float
) -> Iterator[str]:
    preset, verdict = detector.preset, comparison.verdict
    exact = comparison.exact_containment if preset.measure == "containment" else comparison.exact_resemblance
    has_exact = preset.measure in ("containment", "resemblance")
    named = f"{preset.measure} {score:.2f}"
    copy, related = (
        f"NEARDUP_THRESHOLD = {preset.threshold:g}",
        f"NEARDUP_RELATED_THRESHOLD = {preset.related_threshold:g}",
    )
    matched = verdict.original is not None
    if verdict.status == "related" and score < preset.related_threshold:
        asked = f"NEARDUP_TOPIC_THRESHOLD = {preset.topic_threshold:g}"
        yield f"{named} < {related}, but {topic:.2f} of the names and figures >= {asked}: the same story, no copy"
    elif not matched and not comparison.shared_bands:
        missed = (
            f", though the exact {preset.measure} is {exact:.2f}" if has_exact and exact >= preset.threshold else ""
        )
        yield f"none of {comparison.bands} bands in common: never compared{missed}"
    elif template and score >= preset.related_threshold:
        yield f"{named} would do, but other names and figures stand between the same words: reports of one template"
    elif not matched and score >= preset.related_threshold:
        yield f"{named} would do, but another rule stands against it (NEARDUP_SCOPE = {detector.settings.scope})"
    elif score >= preset.threshold:
        yield f"{named} >= {copy}: a copy"
    elif score >= preset.related_threshold:
        yield f"{named} < {copy}, but >= {related}: the same story, no copy"
    else:
        yield f"{named} < {related}: another story"
