"""The figures that the papers report, each with its data, its protocol and who measured it.

The gold set is the one of 2,167 news articles in 68 clusters by Theobald et al. (2008), "SpotSigs".
"""

from __future__ import annotations

from dataclasses import dataclass

GOLD_SET = "gold set"
_ONE_LINK = "one link a document, originals first, a wrong link counted once"
_PAIRS = "all pairs"
_CLUSTERS = "B-cubed over the closure of all pairs"
_NOT_SAID = "not said there"


@dataclass(frozen=True, slots=True)
class Published:
    """A figure of a paper; ``preset`` is None for systems that are no preset.

    ``ours`` is the protocol of ``scrapy neardup eval`` that counts in the same way, "" if there is none.
    ``reported_in`` names the paper that has the figure, and who measured it if these are not the system's authors.
    """

    system: str
    preset: str | None
    precision: float | None
    recall: float | None
    f1: float
    data: str
    protocol: str
    ours: str
    reported_in: str

    def __str__(self) -> str:
        rates = f"P {self.precision} R {self.recall} " if self.precision is not None else ""
        return f"{rates}F {self.f1}, {self.data}"


_ANDD = "Hajishirzi et al. 2010, in Rodier and Carter 2020, table 4"
_IN_TABLE_5 = "measured by Zhang et al. 2016, in Mohammadi and Khasteh 2020, table 5"
_CEDAR_DATA = "1,621 pages of 27 sites, half of them"

PUBLISHED = (
    Published(
        "Rodier and Carter 2020",
        "nrc",
        *(0.971, 0.940, 0.955),
        GOLD_SET,
        _ONE_LINK,
        "original-first-once",
        "their table 3",
    ),
    Published("Gibson et al. 2008", "cedar", 0.992, 0.979, 0.985, _CEDAR_DATA, _PAIRS, "all-pairs", "their table 3"),
    Published(
        "Gibson et al. 2008",
        "cedar",
        *(0.992, 0.979, 0.985),
        _CEDAR_DATA,
        _CLUSTERS,
        "all-pairs-b-cubed",
        "their table 3",
    ),
    Published(
        "Montanari and Puglisi 2012, threshold 0.8",
        "ddd",
        *(None, None, 0.953),
        "744 items of one channel in a day, 111 pairs",
        _PAIRS,
        "all-pairs",
        "their abstract; the body has the best F at 0.7 and names no figure",
    ),
    Published(
        "Simhash of Charikar 2002",
        "simhash",
        0.85,
        0.45,
        0.59,
        GOLD_SET,
        _NOT_SAID,
        "",
        f"{_IN_TABLE_5}; Hu and You 2017 report no figure",
    ),
    Published("Mohammadi and Khasteh 2020", "multiref", 0.87, 0.98, 0.92, GOLD_SET, _NOT_SAID, "", "their table 5"),
    Published(
        "SpotSigs",
        None,
        0.96,
        0.92,
        0.94,
        GOLD_SET,
        _NOT_SAID,
        "",
        "Theobald et al. 2008, in Rodier and Carter 2020, table 4",
    ),
    Published("SpotSigs", None, 0.90, 0.77, 0.83, GOLD_SET, _NOT_SAID, "", _IN_TABLE_5),
    Published("SigNCD", None, 0.95, 0.89, 0.92, GOLD_SET, _NOT_SAID, "", "Zhang et al. 2016, in both tables"),
    Published("SpotSigNCD", None, 0.97, 0.87, 0.92, GOLD_SET, _NOT_SAID, "", _IN_TABLE_5),
    Published("NCD", None, 0.90, 0.78, 0.83, GOLD_SET, _NOT_SAID, "", _IN_TABLE_5),
    Published("ANDD-Raw", None, None, None, 0.956, GOLD_SET, _NOT_SAID, "", _ANDD),
    Published("ANDD-LSH-Cos", None, 0.965, 0.923, 0.943, GOLD_SET, _NOT_SAID, "", _ANDD),
)


def published_for(preset: str) -> tuple[Published, ...]:
    """Return the published figures of a preset."""
    return tuple(row for row in PUBLISHED if row.preset == preset)
