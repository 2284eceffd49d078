"""What the papers report, on the gold set of near-duplicate news articles or on data of their own."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Published:
    """A figure of a paper; ``preset`` is None for systems that are no preset."""

    system: str
    preset: str | None
    precision: float | None
    recall: float | None
    f1: str
    note: str

    def __str__(self) -> str:
        rates = f"P {self.precision} R {self.recall} " if self.precision is not None else ""
        return f"{rates}F {self.f1} {self.note}"


PUBLISHED = (
    Published("Rodier and Carter 2020", "nrc", 0.971, 0.940, "0.955", "gold set, online"),
    Published("Gibson et al. 2008", "cedar", None, None, "0.985", "other data"),
    Published("Montanari and Puglisi 2012", "ddd", None, None, "0.95", "other data"),
    Published("Hu and You 2017", "simhash", 0.85, 0.45, "0.59", "gold set, as measured by others"),
    Published("Mohammadi and Khasteh 2020", "multiref", 0.87, 0.98, "0.92", "gold set"),
    Published("SpotSigs", None, None, None, "0.94", "gold set"),
    Published("SigNCD", None, None, None, "0.92", "gold set"),
)


def published_for(preset: str) -> Published | None:
    return next((row for row in PUBLISHED if row.preset == preset), None)
