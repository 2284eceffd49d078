"""The presets: one row for each method of detection. Settings replace some of their parameters."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

import xxhash

from scrapy_neardup.document import MOST_TOPIC_TERMS
from scrapy_neardup.evidence.likeness import Measure
from scrapy_neardup.exceptions import SettingsError
from scrapy_neardup.text import NORMALISER

Signature = Literal["minhash", "sketch", "simhash", "reference"]
VECTOR_PARAMETERS = "vector_middle", "vector_bar"


@dataclass(frozen=True, slots=True)
class Preset:
    """Features, signature, bands, measure and thresholds of one method.

    Parameters that a kind of signature does not use stay at their defaults. ``takes`` returns those that
    ``NEARDUP_PRESET_OPTIONS`` may replace.
    """

    name: str
    min_block_words: int
    measure: Measure
    threshold: float  # least score of a copy
    related_threshold: float  # least score of a document of the same story
    num_perm: int  # lanes; a "sketch" adds more lanes, which confirm a candidate
    bands: int
    rows: int
    signature: Signature = "minhash"
    features: str = "words"  # or "letters", "terms", "grams"
    shingle_words: int = 1
    shingle_characters: int = 1  # for scripts written without spaces; for every script if ``features`` is "letters"
    samples: int = 0  # at most this many shingles are keys of their own
    leads: int = 0  # at most this many first sentences are keys of their own
    with_title: bool = False  # the title is a line of the text
    guarded: bool = False  # boilerplate lines leave the text
    sample: int = 0  # features of the lowest hashes that a sketch is made of; 0 is all
    collisions: int = 0  # equal lanes that are not yet enough for "overlap"
    topic_terms: int = 0  # at most this many terms of title and lead; a document may join a story by them
    topic_threshold: float = 0.28  # least score of two topics by which a document joins a story
    vector_middle: float = 0.34  # only with a language model, see ``vector_part`` in rules/pair.py
    vector_bar: float = 0.58  # only with a language model, see ``other_meaning`` in rules/guards.py
    names: bool = False  # a document may join a story in another language by its names
    event_rule: str = "sources"
    seed: int = 1

    def config(self, *, records: tuple[int, ...] = (), embedder: str = "", extractor: str = "") -> str:
        """Return a hash, 8 hexadecimal digits, of all parameters that change a fingerprint.

        It is part of every key of a store. ``records`` are the versions of what the store keeps, so that two versions
        of this package never read each other's records. ``embedder`` names the model that vectors are made by, if any.
        ``extractor`` names what made the texts: a page that another version has read would look changed.
        """
        decisive = {
            **{name: value for name, value in asdict(self).items() if name not in _OF_VERDICTS},
            "normaliser": NORMALISER,
            "records": records,
            "embedder": embedder,
            "extractor": extractor,
        }
        return xxhash.xxh32_hexdigest(repr(sorted(decisive.items())).encode())

    @property
    def learns(self) -> bool:
        """Return whether the preset needs to know in how many documents a feature occurs."""
        return self.features == "terms"

    @property
    def takes(self) -> frozenset[str]:
        """Return the parameters that a user may set."""
        taken = {"threshold", "related_threshold", "min_block_words"}
        if self.signature == "minhash":
            taken.add("measure")
        if self.topic_terms:
            taken.update(("topic_threshold", "names", *VECTOR_PARAMETERS))
        return frozenset(taken)


# These parameters change the verdict on two fingerprints, but never a fingerprint.
_OF_VERDICTS = {
    *("name", "measure", "event_rule", "threshold", "related_threshold", "topic_threshold", "collisions"),
    *VECTOR_PARAMETERS,
}
PRESETS: dict[str, Preset] = {
    preset.name: preset
    for preset in (
        Preset(
            name="news",
            shingle_words=3,
            shingle_characters=5,
            min_block_words=8,
            guarded=True,
            num_perm=256,
            bands=38,
            rows=3,
            samples=6,
            leads=6,
            measure="containment",
            threshold=0.45,
            related_threshold=0.25,
            topic_terms=MOST_TOPIC_TERMS,
            names=True,
        ),
        # Rodier and Carter 2020, the row of table 3 with the best F1: docs/published-systems.md.
        Preset(
            name="nrc",
            signature="sketch",
            shingle_words=3,
            shingle_characters=5,
            min_block_words=0,
            with_title=True,
            sample=1600,
            num_perm=20,
            bands=20,
            rows=1,
            collisions=2,
            measure="overlap",
            threshold=0.2,
            related_threshold=0.2,
        ),
        # Gibson, Wellner and Lubar 2008, with extracted content: docs/published-systems.md.
        Preset(
            name="cedar",
            shingle_words=2,
            shingle_characters=3,
            min_block_words=0,
            num_perm=256,
            bands=42,
            rows=3,
            measure="resemblance",
            threshold=0.4,
            related_threshold=0.4,
        ),
        # Montanari and Puglisi 2012: docs/published-systems.md.
        Preset(
            name="ddd",
            features="letters",
            shingle_characters=4,
            min_block_words=8,
            num_perm=256,
            bands=42,
            rows=3,
            measure="larger",
            threshold=0.7,
            related_threshold=0.7,
        ),
        # Hu and You 2017: docs/published-systems.md.
        # Up to 3 of 64 bits differ in a copy, 4 to 7 in a related text. The bands surely find only pairs up to 3 apart.
        Preset(
            name="simhash",
            signature="simhash",
            features="terms",
            min_block_words=8,
            num_perm=64,
            bands=4,
            rows=16,
            measure="hamming",
            threshold=61 / 64,
            related_threshold=57 / 64,
            event_rule="count",
        ),
        # Mohammadi and Khasteh 2020, who name no thresholds: docs/published-systems.md.
        Preset(
            name="multiref",
            signature="reference",
            features="grams",
            min_block_words=8,
            num_perm=150,
            bands=32,
            rows=10,
            measure="cosine",
            threshold=0.85,
            related_threshold=0.85,
        ),
    )
}


def preset_with(name: str, given: Mapping[str, Any]) -> Preset:
    """Return a preset with the given parameters.

    Raise SettingsError if the preset has no such parameter, or if two values do not go together.
    """
    base = PRESETS[name]
    for parameter in sorted(given):
        if parameter not in base.takes:
            raise SettingsError(
                option_name(parameter),
                given[parameter],
                f"NEARDUP_PRESET = {name!r} has no such parameter; it has {', '.join(sorted(base.takes))}",
            )
    row = {**asdict(base), **given}
    if row["topic_threshold"] >= 1:
        row["topic_terms"] = 0
    if row["related_threshold"] > row["threshold"]:
        if "related_threshold" in given:
            raise SettingsError(
                option_name("related_threshold"),
                given["related_threshold"],
                f"must be at most threshold = {row['threshold']:g}",
            )
        row["related_threshold"] = row["threshold"]
    return Preset(**row)


def option_name(parameter: str) -> str:
    """Return how messages name a parameter that the user set."""
    return f'NEARDUP_PRESET_OPTIONS["{parameter}"]'
