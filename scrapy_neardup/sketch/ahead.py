"""Make sketches ahead, in the worker process that extracted the text, and send them with the text.

A worker knows nothing of boilerplate, which is learned from documents in their order. So it packs the sketch of the
whole text. If lines are left out, the crawl's own process sketches the text again.
"""

from __future__ import annotations

import json
import time
from array import array
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

from scrapy_neardup.records.packing import PackedFields
from scrapy_neardup.sketch.fingerprint import Sketcher, TextSketch
from scrapy_neardup.sketch.signatures import SignedText
from scrapy_neardup.sketch.signatures.presets import Preset

FACTORY = f"{__name__}.sketch_ahead"

_MOST_CHARACTERS = 65_536  # that are sketched together

_STRINGS = "signature", "figures", "specifics", "lead", "names"
_ARRAYS = "lines", "band_keys", "sample_keys"
_SKETCH = PackedFields(
    "packed sketch", {"milliseconds": "d", "size": "I", "text_hash": "8s", **dict.fromkeys((*_STRINGS, *_ARRAYS), "I*")}
)


def ahead_options(preset: Preset, *, min_words: int, figures: bool) -> str:
    """Return the text with which a worker calls ``sketch_ahead``."""
    return json.dumps({"preset": asdict(preset), "min_words": min_words, "figures": figures})


def sketch_ahead(options: str) -> Callable[[Sequence[str]], list[bytes]]:
    """Return a function that sketches texts and packs the sketches."""
    row = json.loads(options)
    sketcher = Sketcher(Preset(**row["preset"]), min_words=row["min_words"], figures=row["figures"])
    sketcher.prepare()

    def sketch(texts: Sequence[str]) -> list[bytes]:
        if len(texts) > 1 and sum(map(len, texts)) > _MOST_CHARACTERS:
            return [packed for text in texts for packed in sketch([text])]
        start = time.perf_counter()
        made = sketcher.whole(*texts)
        each = 1000 * (time.perf_counter() - start) / len(texts)
        return [pack_sketch(sketch, each) for sketch in made]

    return sketch


def pack_sketch(sketch: TextSketch, milliseconds: float) -> bytes:
    """Pack a sketch for ``unpack_sketch`` on the same machine."""
    signed = sketch.signed
    numbers = sketch.lines, signed.band_keys, signed.sample_keys
    strings = signed.signature, sketch.figures, sketch.specifics, sketch.lead, sketch.names
    return _SKETCH.pack(
        milliseconds, signed.size, sketch.text_hash, *strings, *(array("I", each).tobytes() for each in numbers)
    )


def unpack_sketch(packed: bytes) -> tuple[TextSketch, float]:
    """Return the sketch and the milliseconds it took. Raise StoreError for bytes that are no packed sketch."""
    values: Any = _SKETCH.unpack_whole(packed)
    milliseconds, size, text_hash, signature, figures, specifics, lead, names, *numbers = values
    lines, band_keys, sample_keys = (array("I", each) for each in numbers)
    sketch = TextSketch(
        lines=frozenset(lines),
        signed=SignedText(signature, size, tuple(band_keys), tuple(sample_keys)),
        text_hash=text_hash,
        figures=figures,
        specifics=specifics,
        lead=lead,
        names=names,
    )
    return sketch, milliseconds
