"""Sketch texts: what the text alone tells of a document.

A worker process that extracted a text sketches it ahead, and sends the packed sketch with the text. A worker knows
nothing of boilerplate, which is learned from documents in their order. If lines are left out, the crawl's own process
sketches the text again.
"""

import json
from array import array
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, cast

from scrapy_neardup.evidence.figures.counted import is_of_page
from scrapy_neardup.evidence.figures.figure import SENTENCE_ENDS, Figure, counted_figures, find_figures
from scrapy_neardup.evidence.names import NAME_WORDS, find_names, pack_names
from scrapy_neardup.evidence.source_boilerplate import LEAST_WORDS
from scrapy_neardup.evidence.titles import terms_of
from scrapy_neardup.evidence.topic import TOPIC_WORDS, read_lead
from scrapy_neardup.records.packing import PackedFields
from scrapy_neardup.settings.presets import Preset
from scrapy_neardup.sketch.signatures import SIGNERS, UNSIGNED, SignedText
from scrapy_neardup.text.lines import Body, read_bodies

FACTORY = f"{__name__}.sketch_ahead"

_STRINGS = "signature", "lead", "names", "lines", "band_keys", "sample_keys"
_SKETCH = PackedFields(
    "packed sketch",
    {"size": "I", "text_hash": "8s", "content_hash": "8s", **dict.fromkeys(_STRINGS, "I*")},
)


def ahead_options(preset: Preset, *, min_words: int) -> str:
    """Return the text with which a worker calls ``sketch_ahead``."""
    return json.dumps({"preset": asdict(preset), "min_words": min_words})


@dataclass(frozen=True, slots=True)
class TextSketch:
    """The part of a fingerprint that depends only on the text and on which of its lines are boilerplate."""

    lines: frozenset[int]  # keys of the lines that may be boilerplate
    signed: SignedText
    text_hash: bytes
    content_hash: bytes  # of all lines
    lead: bytes  # see evidence.topic
    names: bytes  # of the first words, see evidence.names


@dataclass(slots=True)
class Draft:
    """A text on its way to its sketch. Its body is read when somebody needs it, for a worker may have sketched it."""

    text: str
    lines: frozenset[int]  # keys of the lines that may be boilerplate
    read: Callable[[Sequence[str]], list[Body]]
    body: Body | None = None
    sketch: TextSketch | None = None  # first that of all lines, if a worker made it
    left_out: frozenset[int] = frozenset()  # keys of lines that are boilerplate
    title_figures: Callable[[], Sequence[Figure]] = tuple
    long_lines: dict[int, str] = field(default_factory=dict)  # by key, once somebody asked
    terms_of_lines: dict[int, frozenset[int]] = field(default_factory=dict)  # by key, of those that somebody asked for

    def read_body(self) -> Body:
        if self.body is None:
            (self.body,) = self.read([self.text])
        return self.body

    def _line(self, key: int) -> str:
        if not self.long_lines:
            self.long_lines = {key: text for text, key, is_long in self.read_body().read_lines if is_long}
        return self.long_lines.get(key, "")

    # See evidence.source_boilerplate

    def terms_in(self, lines: frozenset[int]) -> frozenset[int]:
        unread = lines - self.terms_of_lines.keys()
        self.terms_of_lines |= {key: terms_of(self._line(key)) for key in unread}
        return frozenset().union(*(self.terms_of_lines[key] for key in lines))

    def counted_in(self, line: int) -> frozenset[Figure]:
        text = self._line(line)
        is_link = not text.endswith(SENTENCE_ENDS) and is_of_page(text)
        return frozenset() if is_link else counted_figures(find_figures(text))

    def counted_in_news(self, lines: frozenset[int]) -> frozenset[Figure]:
        lead = self.read_body().without(lines).lead(TOPIC_WORDS)
        return counted_figures([*self.title_figures(), *find_figures("\n".join(lead))])

    def texts_of(self, keys: frozenset[int]) -> tuple[str, ...]:
        """Return the lines with these keys as they are printed."""
        return tuple(filter(None, map(self._line, keys)))


class TextSketcher:
    """Sketches texts by one preset. The same texts give the same sketches everywhere."""

    def __init__(self, preset: Preset, *, min_words: int = 20) -> None:
        self.preset = preset
        self.min_words = min_words
        self._signer = SIGNERS[preset.signature](preset)

    def prepare(self) -> None:
        """Read the tables that the first sketch needs: 40 ms of work."""
        self.whole("any word " * self.min_words)

    def whole(self, *texts: str) -> list[TextSketch]:
        """Return the sketches of texts with all their lines, boilerplate or not. Nothing is learned."""
        drafts = self.drafts(texts, [None] * len(texts))
        self.sketch(drafts)
        return [draft.sketch for draft in drafts if draft.sketch]

    def drafts(self, texts: Sequence[str], ahead: Sequence[TextSketch | None]) -> list[Draft]:
        """Read the texts of which no sketch was made ahead. They are read together."""
        unread = [text for text, sketch in zip(texts, ahead, strict=True) if sketch is None]
        bodies = iter(self.read_texts(unread) if unread else ())  # to read nothing takes as long as a short text
        drafts = []
        for text, sketch in zip(texts, ahead, strict=True):
            if sketch is not None:
                drafts.append(Draft(text, sketch.lines, self.read_texts, sketch=sketch))
            else:
                body = next(bodies)
                is_learned = (body.kept.words >= LEAST_WORDS) & self.preset.guarded
                lines = frozenset(body.kept.keys[is_learned].tolist())
                drafts.append(Draft(text, lines, self.read_texts, body))
        return drafts

    def read_texts(self, texts: Sequence[str]) -> list[Body]:
        """Read texts with all their lines."""
        return read_bodies(texts, min_words=self.min_words, min_block_words=self.preset.min_block_words)

    def sketch(self, drafts: Sequence[Draft]) -> None:
        """Sketch texts together, without the lines that are left out."""
        bodies = [draft.read_body().without(draft.left_out) for draft in drafts]
        long_enough = [body for body in bodies if body.words >= self.min_words]
        signed = iter(self._signer.sign(long_enough) if long_enough else ())
        for draft, body in zip(drafts, bodies, strict=True):
            own = next(signed) if body.words >= self.min_words else UNSIGNED
            draft.sketch = self._text_sketch(draft, body, own)

    def _text_sketch(self, draft: Draft, body: Body, signed: SignedText) -> TextSketch:
        whole = draft.sketch
        lead, names = (whole.lead, whole.names) if whole else (b"", b"")
        if not signed.signature:
            lead = names = b""
        elif whole is None or body.lead(TOPIC_WORDS) != body.without(frozenset()).lead(TOPIC_WORDS):
            lead = read_lead(body.lead(TOPIC_WORDS)) if self.preset.topic_terms else b""
            names = pack_names(find_names(body.lead(NAME_WORDS))) if lead and self.preset.names else b""
        return TextSketch(
            lines=draft.lines,
            signed=signed,
            text_hash=body.text_hash,
            content_hash=body.content_hash,
            lead=lead,
            names=names,
        )


def sketch_ahead(options: str) -> Callable[[Sequence[str]], list[bytes]]:
    """Return a function that sketches texts and packs the sketches."""
    row = json.loads(options)
    sketcher = TextSketcher(Preset(**row["preset"]), min_words=row["min_words"])
    sketcher.prepare()

    return lambda texts: list(map(pack_sketch, sketcher.whole(*texts)))


def pack_sketch(sketch: TextSketch) -> bytes:
    """Pack a sketch for ``unpack_sketch`` on the same machine."""
    signed = sketch.signed
    return _SKETCH.pack(
        signed.size,
        sketch.text_hash,
        sketch.content_hash,
        signed.signature,
        sketch.lead,
        sketch.names,
        *(array("I", each).tobytes() for each in (sketch.lines, signed.band_keys, signed.sample_keys)),
    )


def unpack_sketch(packed: bytes) -> TextSketch:
    """Return the sketch that a worker packed. Raise StoreError for bytes that are no packed sketch."""
    size, text_hash, content_hash, signature, lead, names, *numbers = cast("Any", _SKETCH.unpack(packed))
    lines, band_keys, sample_keys = (array("I", each) for each in numbers)
    return TextSketch(
        lines=frozenset(lines),
        signed=SignedText(signature, size, tuple(band_keys), tuple(sample_keys)),
        text_hash=text_hash,
        content_hash=content_hash,
        lead=lead,
        names=names,
    )
