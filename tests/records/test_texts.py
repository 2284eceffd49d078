"""Texts that a window keeps come back as they were, or not at all."""

import random
import tracemalloc
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.records.documents import MOST_STORED, StoredText, pack_text, unpack_text

TEXT = "Four people were hurt in Skerrow on Monday.\nСгорели 12 домов.\nجرح أربعة أشخاص" * 9
PACKED = pack_text(StoredText.of("A title", TEXT))


@given(st.text(), st.text())
def test_a_text_comes_back_as_it_is_kept(title: str, text: str) -> None:
    assert unpack_text(pack_text(StoredText.of(title, text))) == StoredText.of(title, text)


def test_title_and_text_are_kept_as_they_are_printed() -> None:
    assert StoredText.of("Fire\nin  Skerrow ", f"\n{TEXT}\ud800") == ("Fire in Skerrow", f"\n{TEXT}?", False)


@pytest.mark.parametrize(
    ("end", "is_kept"), [("\n", True), (". ", True), ("।", True), ("", False), ("3.5", False)], ids=repr
)
def test_a_long_text_is_cut_at_the_end_of_a_line_or_sentence_if_one_is_near(end: str, is_kept: bool) -> None:
    beginning = "x" * (MOST_STORED - 100) + end
    kept = StoredText.of("", beginning + "y" * 5000)
    assert kept.is_cut
    assert kept.text == (beginning.rstrip(" ") if is_kept else (beginning + "y" * 5000)[:MOST_STORED])
    assert unpack_text(pack_text(StoredText.of("", kept.text))) == ("", kept.text, False)


def test_a_packed_text_with_any_byte_changed_or_missing_is_none() -> None:
    draw = random.Random(1)
    for place in range(len(PACKED)):
        other = PACKED[place] ^ draw.randrange(1, 256)
        if place or other not in (1, 2):  # which say whether it was cut
            assert unpack_text(PACKED[:place] + bytes([other]) + PACKED[place + 1 :]) is None
        assert unpack_text(PACKED[:place]) is None
    assert unpack_text(PACKED + b"\0") is None


def test_no_more_is_unpacked_than_the_longest_text() -> None:
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    bomb = PACKED[:5] + packer.compress(bytes(100_000_000)) + packer.flush()
    tracemalloc.start()
    assert unpack_text(bomb) is None
    assert tracemalloc.get_traced_memory()[1] < 1_000_000
    tracemalloc.stop()
