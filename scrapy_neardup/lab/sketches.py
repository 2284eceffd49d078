"""Sketchers that share their work: each text is read and sketched once, in whatever order documents come."""

from __future__ import annotations

import time
from collections.abc import Sequence

from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.sketch import Sketcher
from scrapy_neardup.sketch.fingerprint import LeftOut, TextRead, TextSketch


class SharedSketches:
    """The texts read and sketched under one configuration, and the time that this took."""

    def __init__(self, settings: NearDupSettings) -> None:
        self.settings = settings
        self.readings: dict[str, TextRead] = {}
        self.sketches: dict[tuple[str, LeftOut], TextSketch] = {}
        self.seconds_reading = self.seconds_sketching = 0.0
        self.sketched = 0

    def new_sketcher(self) -> Sketcher:
        """Return a sketcher that has learned nothing."""
        return _SharingSketcher(self)

    @property
    def seconds(self) -> float:
        return self.seconds_reading + self.seconds_sketching

    @property
    def seconds_a_text(self) -> float:
        """Return the mean time of reading a text plus the mean time of sketching one."""
        return self.seconds_reading / max(1, len(self.readings)) + self.seconds_sketching / max(1, self.sketched)


class _SharingSketcher(Sketcher):
    def __init__(self, shared: SharedSketches) -> None:
        super().__init__(shared.settings.resolved_preset(), **shared.settings.sketch_options())
        self._shared = shared

    def read_texts(self, texts: Sequence[str]) -> list[TextRead]:
        known = self._shared.readings
        new = [text for text in texts if text not in known]
        start = time.perf_counter()
        known.update(zip(new, super().read_texts(new) if new else (), strict=True))
        self._shared.seconds_reading += time.perf_counter() - start
        return [known[text] for text in texts]

    def sketch_texts(self, texts: Sequence[TextRead]) -> list[TextSketch]:
        known = self._shared.sketches
        keys = [(each.text, each.left_out) for each in texts]
        # Frequencies change with every document, and with them its sketch.
        learns = self.frequencies is not None
        new = {key: each for key, each in zip(keys, texts, strict=True) if learns or key not in known}
        start = time.perf_counter()
        known.update(zip(new, super().sketch_texts(list(new.values())) if new else (), strict=True))
        self._shared.seconds_sketching += time.perf_counter() - start
        self._shared.sketched += len(new)
        return [known[key] for key in keys]
