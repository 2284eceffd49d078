"""Make the features of a signature from a body."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from scrapy_neardup.sketch.signatures.presets import Preset
from scrapy_neardup.sketch.text.characters import code_points
from scrapy_neardup.sketch.text.shingles import distinct, shingle_hashes, window_hashes

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from scrapy_neardup.sketch.text.body import Body


def distinct_features(body: Body, preset: Preset, share: float = 1.0) -> NDArray[np.uint32]:
    """Return the distinct hashes of a body's shingles, sorted. Shingles are of words or of letters.

    With a ``share``, only this first part of the tokens is used.
    """
    if preset.features == "letters":
        return distinct(window_hashes(code_points("".join(body.tokens)), preset.shingle_characters))
    if share == 1.0 and not body.unspaced:
        return distinct(body.windows(preset.shingle_words))
    hashes = body.kept_hashes
    first = math.ceil(len(hashes) * share)
    are_unspaced = body.kept_unspaced[:first]
    return shingle_hashes(hashes[:first], preset.shingle_words, preset.shingle_characters, are_unspaced)
