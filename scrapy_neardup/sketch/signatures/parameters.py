"""A preset with some of its parameters replaced by settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from scrapy_neardup.exceptions import SettingsError
from scrapy_neardup.sketch.signatures.presets import PRESETS, Preset
from scrapy_neardup.sketch.signatures.simhash import PLANS

_ALLOWED_PLANS = (
    "must be 8, 4 or 5 (one block of 8, 16 or 13 bits in common) or 10 (two blocks of 13 bits) of a SimHash"
)


def preset_with(name: str, given: Mapping[str, Any]) -> Preset:
    """Return a preset with the given parameters, of which None means that the preset's own value stays.

    Raise SettingsError if the preset has no such parameter, or if two values do not go together.
    """
    base = PRESETS[name]
    given = {parameter: value for parameter, value in given.items() if value is not None}
    for parameter in sorted(given):
        if parameter not in base.takes:
            allowed = ", ".join(map(_setting, sorted(base.takes)))
            raise _error(given, parameter, f"NEARDUP_PRESET = {name!r} has no such parameter; it has {allowed}")
    row = {each.name: getattr(base, each.name) for each in fields(base)} | given
    if base.signature == "minhash":
        row["bands"], row["rows"] = _bands_and_rows(base, row, given)
    elif base.signature == "simhash" and "bands" in given:
        if given["bands"] not in PLANS:
            raise _error(given, "bands", _ALLOWED_PLANS)
        plan = PLANS[given["bands"]]
        row["rows"] = plan.block_bits * plan.in_common
    elif base.signature == "sketch":
        row["bands"] = row["num_perm"]
        if row["collisions"] >= row["num_perm"]:
            allowed = f"must be under NEARDUP_NUM_PERM = {row['num_perm']}, or nothing is ever a candidate"
            raise _error(row, "collisions", allowed)
    if row["related_threshold"] > row["threshold"]:
        if "related_threshold" in given:
            raise _error(given, "related_threshold", f"must be at most NEARDUP_THRESHOLD = {row['threshold']:g}")
        row["related_threshold"] = row["threshold"]
    return Preset(**row)


def _bands_and_rows(base: Preset, row: Mapping[str, Any], given: Mapping[str, Any]) -> tuple[int, int]:
    num_perm, bands, rows = row["num_perm"], given.get("bands"), row["rows"]
    if bands == "auto":
        from scrapy_neardup.sketch.signatures.minhash import optimal_bands

        try:
            return optimal_bands(row["threshold"], num_perm)
        except ValueError as error:
            allowed = f"must be a number with NEARDUP_THRESHOLD = {row['threshold']:g}: datasketch finds none ({error})"
            raise _error(given, "bands", allowed) from error
    most = num_perm // rows
    if bands is not None and bands * rows > num_perm:
        allowed = f"with {rows} rows a band and NEARDUP_NUM_PERM = {num_perm} there are at most {most} bands"
        raise _error(given, "bands", allowed)
    if not most:
        raise _error(row, "rows", f"must be at most NEARDUP_NUM_PERM = {num_perm}")
    if bands is None:
        bands = most if "rows" in given else min(most, base.bands)
    return bands, rows


def _error(values: Mapping[str, Any], parameter: str, allowed: str) -> SettingsError:
    return SettingsError(_setting(parameter), values[parameter], allowed)


def _setting(parameter: str) -> str:
    return f"NEARDUP_{parameter.upper()}"
