"""multiref: cosines with the parts of a reference text."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup import NearDupSettings
from scrapy_neardup.evidence.minima import cosine
from scrapy_neardup.exceptions import SettingsError
from scrapy_neardup.sketch import PRESETS
from scrapy_neardup.sketch.signatures.reference import GRAMS, PARTS, gram_keys, load_reference, part_numbers

REFERENCE = load_reference()


# Signatures.

SHIPPED = Path(__file__).parents[3] / "scrapy_neardup/sketch/signatures/reference.json"


def test_a_signature_holds_the_cosines_with_the_parts() -> None:
    content = json.loads(SHIPPED.read_text("utf-8"))
    text = "the minister said on thursday that the company had not paid what it owed the government"
    counts = Counter(text[start : start + 3] for start in range(len(text) - 2))
    parts: list[list[str]] = [[] for _ in range(PARTS)]
    for gram, part in zip(content["grams"], part_numbers(GRAMS).tolist(), strict=True):
        parts[part].append(gram)
    cosines = np.array([sum(counts[gram] for gram in part) / len(part) ** 0.5 for part in parts])
    expected = np.rint(cosines * 640 / np.linalg.norm(cosines)).clip(0, 255)

    assert list(REFERENCE.sign(text)) == expected.astype(int).tolist()


@given(st.text(min_size=3, max_size=30))
def test_every_run_of_three_characters_has_a_key_of_its_own(text: str) -> None:
    grams = [text[start : start + 3] for start in range(len(text) - 2)]
    keys = gram_keys(text).tolist()

    assert len(keys) == len(grams)
    assert len(set(keys)) == len(set(grams))


def test_a_cosine_of_signatures_is_near_that_of_the_texts() -> None:
    """On the texts it was not trained on: English, so that its 3-grams are there at all."""
    one = "The bridge over the river was closed on Monday after engineers had found cracks in two of its piers. "
    other = "Shares of the company rose after it had reported profits above what the market had expected for it. "
    assert cosine(REFERENCE.sign(one.lower()), REFERENCE.sign((one + other).lower())) > 0.6
    assert cosine(REFERENCE.sign(one.lower()), REFERENCE.sign(other.lower())) < 0.7


# Files.


def _cut(text: str) -> str:
    return text[: len(text) // 2]


def _with(**changes: object) -> Callable[[str], str]:
    return lambda text: json.dumps({**json.loads(text), **changes})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_cut, "is cut off, or is not a reference file"),
        (lambda text: "[]", "is no reference of format 1"),
        (_with(format=2), "is no reference of format 1"),
        (_with(grams=["abc"]), f"has 1 different 3-grams, not {GRAMS}"),
        (_with(grams=["abc"] * GRAMS), f"has 1 different 3-grams, not {GRAMS}"),
        (_with(grams=["ab"] * GRAMS), "has no list of 3-grams"),
        (_with(mean=[0]), f"has no average signature of {PARTS} lanes"),
    ],
)
def test_a_file_that_is_no_reference_is_named_at_the_start(
    tmp_path: Path, change: Callable[[str], str], message: str
) -> None:
    shipped = SHIPPED
    path = tmp_path / "mine.json"
    path.write_text(change(shipped.read_text("utf-8")), "utf-8")

    with pytest.raises(SettingsError) as refused:
        NearDupSettings.from_mapping({"NEARDUP_PRESET": "multiref", "NEARDUP_PRESET_OPTIONS": {"reference": str(path)}})

    assert str(refused.value).startswith(f'NEARDUP_PRESET_OPTIONS["reference"] = {str(path)!r}: {message}')
    assert str(refused.value).endswith("or leave the setting out")


def test_another_reference_is_another_configuration(tmp_path: Path) -> None:
    shipped = json.loads(SHIPPED.read_text("utf-8"))
    configs = {PRESETS["multiref"].config()}  # what is in the file counts, not where it lies
    for name, grams in (("same", shipped["grams"]), ("turned", shipped["grams"][::-1])):
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps({**shipped, "grams": grams}), "utf-8")
        values = {"NEARDUP_PRESET": "multiref", "NEARDUP_PRESET_OPTIONS": {"reference": str(path)}}
        configs.add(NearDupSettings.from_mapping(values).resolved_preset().config())

    assert len(configs) == 2


@given(st.text(max_size=60))
def test_any_text_has_a_signature_or_none(text: str) -> None:
    assert len(REFERENCE.sign(text)) in (0, PARTS)
