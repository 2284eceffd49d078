"""Sketch texts: what the text alone tells of a document.

A worker process that extracted a text sketches it ahead, and sends the packed sketch with the text. A worker knows
nothing of boilerplate, which is learned from documents in their order. If lines are left out, the crawl's own process
sketches the text again.
"""

import json
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from scrapy_neardup.evidence.names import NAME_WORDS, find_names, pack_names
from scrapy_neardup.evidence.topic import TOPIC_WORDS, read_lead
from scrapy_neardup.records.packing import PackedFields
from scrapy_neardup.settings.presets import Preset
from scrapy_neardup.sketch.signatures import SIGNERS, UNSIGNED, SignedText
from scrapy_neardup.text.lines import Body, read_bodies

_LEAST_WORDS = 5  # of a line that may be boilerplate: "by" and "Mrs." are in any article
_SKETCH = PackedFields(
    "packed sketch",
    {
        "size": "I",
        "text_hash": "8s",
        "content_hash": "8s",
        "signature": "I*",
        "lead": "I*",
        "names": "I*",
        "lines": "I*",
        "band_keys": "I*",
        "sample_keys": "I*",
    },
)


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
    sketch: TextSketch | None = None  # one that a worker made is of all lines, until lines are left out
    left_out: frozenset[int] = frozenset()  # keys of lines that are boilerplate

    def read_body(self) -> Body:
        if self.body is None:
            (self.body,) = self.read([self.text])
        return self.body


class TextSketcher:
    """Sketches texts by one preset. The same texts give the same sketches everywhere."""

    def __init__(self, preset: Preset, *, min_words: int = 20) -> None:
        self.preset = preset
        self.min_words = min_words
        self._signer = SIGNERS[preset.signature](preset)
        # Reads texts with all their lines.
        self.read_texts = partial(read_bodies, min_words=min_words, min_block_words=preset.min_block_words)

    def prepare(self) -> None:
        """Read the tables that the first sketch needs."""
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
                is_learned = (body.kept.words >= _LEAST_WORDS) & self.preset.guarded
                lines = frozenset(body.kept.keys[is_learned].tolist())
                drafts.append(Draft(text, lines, self.read_texts, body))
        return drafts

    def sketch(self, drafts: Sequence[Draft]) -> None:
        """Sketch texts together, without the lines that are left out."""
        bodies = [draft.read_body().without(draft.left_out) for draft in drafts]
        long_enough = [body for body in bodies if body.words >= self.min_words]
        signed = iter(self._signer.sign(long_enough) if long_enough else ())
        for draft, body in zip(drafts, bodies, strict=True):
            own = next(signed) if body.words >= self.min_words else UNSIGNED
            lead = names = b""
            if own.signature and self.preset.topic_terms:
                lead = read_lead(body.lead(TOPIC_WORDS))
            if lead and self.preset.names:
                names = pack_names(find_names(body.lead(NAME_WORDS)))
            draft.sketch = TextSketch(
                lines=draft.lines,
                signed=own,
                text_hash=body.text_hash,
                content_hash=body.content_hash,
                lead=lead,
                names=names,
            )


def sketch_ahead(options: str) -> Callable[[Sequence[str]], list[bytes]]:
    """Return a function that sketches texts and packs the sketches. See ``content.processes.worker_options``."""
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
