"""Vectors: how they are packed, centred and compared, and what a mean vector costs an attacker."""

import numpy as np
import pytest
from embedders import DIMENSIONS, by_first_word, vector_of

from scrapy_neardup.evidence.vectors import (
    BLOCK,
    EMBEDDED_WORDS,
    FEWEST,
    MOST_OF_SOURCE,
    VectorMeans,
    cosine_of,
    pack_raw,
    text_to_embed,
)
from scrapy_neardup.records.learned import LearnedEntries

ENGLISH = b"en"


def raw(word: str) -> bytes:
    (packed,) = pack_raw(by_first_word([word]), 1)
    return packed


def learned(count: int, language: bytes = ENGLISH) -> VectorMeans:
    """Return means that have learned from documents with a meaning and a source each."""
    means = VectorMeans()
    for number in range(count):
        means.centred(raw(f"other{number}"), language, number.to_bytes(4, "big"))
    return means


def test_title_and_first_words_are_embedded() -> None:
    words = [f"w{number}" for number in range(EMBEDDED_WORDS + 5)]
    assert text_to_embed("Title", "\n".join(words)) == f"Title\n{' '.join(words[:EMBEDDED_WORDS])}"


def test_cosines_of_unrelated_texts_are_near_zero_although_all_vectors_are_alike() -> None:
    one, other = vector_of("ferry"), vector_of("market")
    assert one @ other / np.linalg.norm(one) / np.linalg.norm(other) > 0.7
    means = learned(200)
    ferry, market, again = (means.centred(raw(each), ENGLISH, b"site") for each in ("ferry", "market", "ferry"))
    cosine, same = cosine_of(ferry, market), cosine_of(ferry, again)
    assert cosine is not None
    assert abs(cosine) < 0.35
    assert same is not None
    assert same > 0.99
    assert len(ferry) == DIMENSIONS  # a byte a dimension


def test_the_first_documents_have_no_vector_because_nothing_is_known_of_the_mean() -> None:
    means = learned(FEWEST - 1)
    assert means.centred(raw("ferry"), ENGLISH, b"site") == b""
    assert means.centred(raw("ferry"), ENGLISH, b"site") != b""


def test_a_source_moves_a_mean_only_a_little() -> None:
    honest, attacked = learned(BLOCK // 2), learned(BLOCK // 2)
    for _ in range(1000):
        attacked.centred(raw("attack"), ENGLISH, b"evil")
    for _ in range(MOST_OF_SOURCE):
        honest.centred(raw("attack"), ENGLISH, b"evil")
    assert attacked.centred(raw("ferry"), ENGLISH, b"site") == honest.centred(raw("ferry"), ENGLISH, b"site")


def test_a_run_of_few_documents_shares_them_at_its_end() -> None:
    means = learned(FEWEST)
    assert means.take_pending(BLOCK) == {}
    other = VectorMeans()
    other.merge(means.take_pending(1))
    assert other.centred(raw("ferry"), ENGLISH, b"site") != b""


def test_damaged_means_are_left_out() -> None:
    means = learned(FEWEST)
    asked = VectorMeans().unmet([ENGLISH])
    nan = np.full(DIMENSIONS, np.nan, np.float16).tobytes()
    means.merge({key: LearnedEntries((), (b"", b"odd", nan, b"\0\0\0\0", b"\0\x3c")) for key in asked})
    vector = means.centred(raw("ferry"), ENGLISH, b"site")
    assert cosine_of(vector, learned(FEWEST).centred(raw("ferry"), ENGLISH, b"site")) == pytest.approx(1)


@pytest.mark.parametrize("answer", [None, [1.0, 2.0], [[1.0]], [[1.0, float("nan")]], [[1.0, 2.0]] * 2, [["a", "b"]]])
def test_an_answer_of_another_form_is_refused(answer: object) -> None:
    with pytest.raises((ValueError, TypeError)):
        pack_raw(answer, 1)
