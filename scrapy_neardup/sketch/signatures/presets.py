"""The presets: one row for each method of detection."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Literal

import xxhash

from scrapy_neardup.similarity.likeness import Measure
from scrapy_neardup.sketch.signatures.reference import load_reference
from scrapy_neardup.sketch.text.reading import NORMALISER

Signature = Literal["minhash", "sketch", "simhash", "reference"]


@dataclass(frozen=True, slots=True)
class Preset:
    """Features, signature, bands, measure and thresholds of one method.

    Parameters that a kind of signature does not use stay at their defaults. ``NEARDUP_*`` settings of the same names
    replace parameters; ``takes`` returns those that a setting may replace.
    """

    name: str
    min_block_words: int
    measure: Measure
    threshold: float  # least score of a copy
    related_threshold: float  # least score of a document of the same story
    num_perm: int  # lanes, but for what "sketch" adds for its confirmation
    bands: int
    rows: int
    signature: Signature = "minhash"
    features: str = "words"  # or "letters", "terms", "grams", or the import path of a callable
    shingle_words: int = 1
    shingle_characters: int = 1  # of scripts written without spaces; of any script where features are letters
    samples: int = 0  # shingles looked up as they are, at most
    leads: int = 0  # first sentences looked up as they are, at most
    with_title: bool = False  # the title is a line of the text
    guarded: bool = False  # boilerplate lines leave the text, and reports of one template are told apart
    common_share: float = 0.0  # the commonest of the features, which are dropped
    sample: int = 0  # features of the lowest hashes that a sketch is made of; 0 is all
    lead_share: float = 0.0  # first part of the text, by which "overlap" confirms a candidate; of short texts all
    collisions: int = 0  # equal lanes that are not yet enough for "overlap"
    stemming: str = ""  # language of the Snowball stemmer that terms go through, "" for none
    stop_words: tuple[str, ...] = ()  # terms that are left out
    heaviest_terms: int = 0  # terms of the highest weights that a SimHash is made of; 0 is all
    reference: str = ""  # path of a reference file, "" for the one of this package
    topic_names: int = 0  # names and figures of title and lead that a document may join a story by
    topic_threshold: float = 0.4  # least share of them for that
    event_rule: str = "sources"
    seed: int = 1

    def config(self, *, by_source: bool = False, records: tuple[int, ...] = ()) -> str:
        """Return 8 hexadecimal digits of every parameter that changes a fingerprint; they are in every key of a store.

        ``records`` are the versions of what the store keeps, so that two versions of this package never read each
        other's records.
        """
        decisive = asdict(self)
        # Thresholds change the verdict on two fingerprints, but never a fingerprint.
        thresholds = ("threshold", "related_threshold", "topic_threshold", "collisions")
        for name in ("name", "measure", "event_rule", *thresholds):
            del decisive[name]
        for name in _ADDED_LATER:
            if not decisive[name]:
                del decisive[name]
        if self.signature == "reference":
            decisive["reference"] = load_reference(self.reference).digest  # the content of the file, not its path
        decisive |= {"normaliser": NORMALISER, "lane_bytes": 1, "scheme": "affine32", "by_source": by_source}
        decisive["records"] = records
        return xxhash.xxh32_hexdigest(repr(sorted(decisive.items())).encode())

    @property
    def learns(self) -> bool:
        """Return whether the preset needs to know in how many documents a feature occurs."""
        return self.common_share > 0 or self.features == "terms"

    @property
    def is_of_text_alone(self) -> bool:
        """Return whether a sketch depends on nothing but the text and which of its lines are boilerplate."""
        return (
            self.signature == "minhash" and self.features in ("words", "letters") and not self.learns | self.with_title
        )

    @property
    def takes(self) -> frozenset[str]:
        """Return the parameters that a user may set."""
        none = {"shingle_words"} if self.features == "letters" else set()
        topic = {"topic_threshold"} if self.topic_names else set()
        return frozenset(_TAKES[self.signature] - none | topic)


_ALWAYS = {"threshold", "related_threshold", "min_block_words"}
_SHINGLES = {"shingle_words", "shingle_characters"}

_ADDED_LATER = ("heaviest_terms",)
"""Parameters newer than some windows in use. At their default they do not change the keys of a store."""

_TAKES: dict[Signature, set[str]] = {
    "minhash": _ALWAYS | _SHINGLES | {"num_perm", "bands", "rows", "measure", "common_share"},
    "sketch": _ALWAYS | _SHINGLES | {"num_perm", "sample", "lead_share", "collisions"},
    "simhash": _ALWAYS | {"bands", "features", "stemming", "stop_words", "heaviest_terms"},
    "reference": _ALWAYS | {"reference"},
}

PARAMETERS = frozenset({"topic_threshold"}).union(*_TAKES.values())
"""Parameters that a user may set for at least one preset."""

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
            topic_names=16,
        ),
        # Rodier and Carter 2020, the row of table 3 with the best F1: docs/systems/nrc.md.
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
            lead_share=1.0,
            measure="overlap",
            threshold=0.2,
            related_threshold=0.2,
        ),
        # Gibson, Wellner and Lubar 2008, with extracted content: docs/systems/cedar.md.
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
        # Montanari and Puglisi 2012: docs/systems/ddd.md.
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
        # Hu and You 2017: docs/systems/simhash.md. Up to 3 of 64 bits differ in a copy, 4 to 7 in a related text.
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
        # Mohammadi and Khasteh 2020, who name no thresholds: docs/systems/multiref.md.
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
