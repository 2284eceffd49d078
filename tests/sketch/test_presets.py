"""Every preset keeps the contract of the index and the laws of a signature."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from conftest import OpenIndex
from documents import checked
from hypothesis import given, settings
from hypothesis import strategies as st
from long_form import tries
from texts import START, article, noisy, opened

from scrapy_neardup import NearDupSettings
from scrapy_neardup.document import Document, Fingerprint
from scrapy_neardup.evidence.likeness import CONFIRMING_LANES, Likeness, cosine, likeness
from scrapy_neardup.exceptions import SettingsError
from scrapy_neardup.index import Policy
from scrapy_neardup.rules.systems import PUBLISHED
from scrapy_neardup.settings.presets import PRESETS
from scrapy_neardup.sketch.fingerprint import Sketcher
from scrapy_neardup.sketch.signatures import PARTS, block_keys, gram_keys, load_reference, simhash

pytestmark = pytest.mark.in_memory


_TEXTS = st.one_of(
    st.text(max_size=400),
    st.integers(0, 50).map(article),
    st.tuples(st.integers(0, 3), st.floats(0, 1), st.integers(0, 9)).map(lambda v: noisy(article(v[0]), v[1], v[2])),
)


def likeness_of(preset: str, one: str, other: str) -> Likeness:
    row, sketcher = PRESETS[preset], Sketcher(PRESETS[preset])
    a, b = (sketcher.fingerprint(Document("00" * 8, "", "", "", text, 0.0)) for text in (one, other))
    return likeness(row.measure, a.signature, b.signature, a.size, b.size, row.collisions)


NAMES = sorted(PRESETS)


@pytest.mark.parametrize("preset", NAMES)
@settings(max_examples=tries(25))
@given(text=_TEXTS)
def test_equal_texts_have_equal_signatures(preset: str, text: str) -> None:
    document = Document("00" * 8, "", "", "Title", text, 0.0)
    one, other = (Sketcher(PRESETS[preset]).fingerprint(document) for _ in range(2))
    assert one == other
    assert not one.signature or likeness_of(preset, text, text).score == pytest.approx(1)


@pytest.mark.parametrize("preset", NAMES)
@settings(max_examples=tries(40))
@given(one=_TEXTS, other=_TEXTS)
def test_likeness_is_symmetric_and_a_share(preset: str, one: str, other: str) -> None:
    there, back = likeness_of(preset, one, other), likeness_of(preset, other, one)
    assert there == back
    for value in (there.similarity, there.containment, there.score):
        assert 0 <= value <= 1 + 1e-12


@pytest.mark.parametrize("preset", NAMES)
async def test_of_lightly_edited_copies_every_one_links_to_the_original(
    preset: str, store_url: str, namespace: str
) -> None:
    """A star, never a chain; also when each copy lies nearest to the one before it."""
    texts = [article("wire")]
    for number in range(4):
        texts.append(texts[-1].replace(texts[-1].split()[7 + 40 * number], "edited", 1))
    async with opened(preset, store_url, namespace) as detector:
        documents = [detector.document(text, seen_at=START + n) for n, text in enumerate(texts)]
        verdicts = [await detector.check(document) for document in documents]
    assert [verdict.status for verdict in verdicts] == ["original"] + ["duplicate"] * 4
    assert {verdict.original for verdict in verdicts[1:]} == {documents[0].id}


@pytest.mark.parametrize("preset", NAMES)
async def test_other_texts_are_originals(preset: str, store_url: str, namespace: str) -> None:
    async with opened(preset, store_url, namespace) as detector:
        documents = [detector.document(article(number), seen_at=START + number) for number in range(30)]
        verdicts = await detector.check_in_order(documents)
    assert {verdict.status for verdict in verdicts} == {"original"}


_VALUES = {
    "measure": "larger",
    "threshold": 0.95,
    "related_threshold": 0.15,
    "topic_threshold": 0.5,
    "vector_bar": 0.4,
    "min_block_words": 5,
}


@pytest.mark.parametrize("preset", NAMES)
@pytest.mark.parametrize("name", sorted(_VALUES))
def test_a_parameter_is_taken_or_refused_by_name(preset: str, name: str) -> None:
    values = {"NEARDUP_PRESET": preset, "NEARDUP_PRESET_OPTIONS": {name: _VALUES[name]}}
    taken = PRESETS[preset].takes
    if name in taken:
        row = NearDupSettings.from_mapping(values).resolved_preset()
        assert getattr(row, name) == _VALUES[name]
    else:
        with pytest.raises(SettingsError, match=rf"^NEARDUP_PRESET_OPTIONS\[.{name}.\] = ") as refused:
            NearDupSettings.from_mapping(values)
        assert f"{preset!r} has no such parameter; it has " in str(refused.value)


def test_simhash_has_the_event_rule_of_its_paper() -> None:
    assert NearDupSettings.from_mapping({"NEARDUP_PRESET": "simhash"}).event_rule == "count"
    chosen = {"NEARDUP_PRESET": "simhash", "NEARDUP_EVENT_RULE": "sources"}
    assert NearDupSettings.from_mapping(chosen).event_rule == "sources"


# nrc: proposed by few lanes, confirmed by many.

SENTENCES = (
    # An example of our own in the manner of the paper's.
    "A family of capybaras that left the city zoo through a broken fence on Sunday was seen by the river on Monday",
    "Keepers said that the four animals had walked past a bakery, two schools and the station without being noticed",
    "A spokeswoman asked people not to feed them, because bread makes the animals ill and keeps them near the road",
    "The zoo has set up a pen with melons by the bridge and hopes that they will come in by themselves before night",
    "Capybaras are the largest rodents there are, swim well, and live in groups along rivers of the continent",
)


@pytest.mark.parametrize(
    ("edited", "status"),
    [
        ((0, 1, 2, 3), "duplicate"),
        ((0, 1, 2, 4), "duplicate"),
        ((0, 1, 2, 3, 4, "Officials will give a press conference about the fence on Wednesday morning"), "duplicate"),
        (("In other news the council voted on a bridge for trams and bicycles over the harbour",), "original"),
    ],
    ids=["last cut", "one cut", "one added", "another text"],
)
async def test_nrc_finds_the_edits_of_five_sentences(edited: Sequence[int | str], status: str) -> None:
    told = [SENTENCES[each] if isinstance(each, int) else f"{each}. " * 3 for each in edited]
    async with opened("nrc", "memory://", "nrc", NEARDUP_KEEP_UPDATES=False) as detector:
        await detector.check(detector.document(". ".join(SENTENCES), title="Capybaras on the loose", seen_at=START))
        copy = detector.document(". ".join(told), title="Capybaras on the loose", seen_at=START + 60)
        assert (await detector.check(copy)).status == status


def test_nrc_needs_more_collisions_than_are_set() -> None:
    lead = bytes(CONFIRMING_LANES)
    lanes = [bytes(20), bytes(17) + b"\1" * 3, bytes(3) + b"\1" * 17, bytes(2) + b"\1" * 18]
    scores = [likeness("overlap", lanes[0] + lead, each + lead, 9, 9, 2).score for each in lanes]
    assert scores == [1, 1, 1, 0]


async def test_nrc_takes_five_permutations(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many as in the example of the paper."""
    monkeypatch.setitem(PRESETS, "nrc", replace(PRESETS["nrc"], num_perm=5, bands=5))
    async with opened("nrc", "memory://", "nrc", NEARDUP_MIN_WORDS=5) as detector:
        texts = (SENTENCES[0], f"{SENTENCES[0]} morning", SENTENCES[2])
        statuses = [(await detector.check(detector.document(text, seen_at=START))).status for text in texts]
    assert statuses == ["original", "duplicate", "original"]


# ddd: letters, and shared / larger.


def test_ddd_tells_an_excerpt_from_a_copy() -> None:
    whole = article("wire", 400)
    half = "\n".join(whole.splitlines()[:8])
    found = likeness_of("ddd", whole, half)
    assert found.containment > 0.8
    assert found.score < 0.7


# The reference text of multiref

REFERENCE = load_reference()
SHIPPED = Path(__file__).parents[2] / "scrapy_neardup/sketch/reference.json"


def test_a_signature_holds_the_cosines_with_the_parts() -> None:
    content = json.loads(SHIPPED.read_text("utf-8"))
    text = "the minister said on thursday that the company had not paid what it owed the government"
    counts = Counter(text[start : start + 3] for start in range(len(text) - 2))
    parts: list[list[str]] = [[] for _ in range(PARTS)]
    for place, gram in enumerate(content["grams"]):
        parts[place * PARTS // len(content["grams"])].append(gram)
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
    one = "the bridge over the river was closed on monday after engineers had found cracks in two of its piers. "
    other = "shares of the company rose after it had reported profits above what the market had expected for it. "
    assert cosine(REFERENCE.sign(one), REFERENCE.sign(one + other)) > 0.6
    assert cosine(REFERENCE.sign(one), REFERENCE.sign(other)) < 0.7


@given(st.text(max_size=60))
def test_any_text_has_a_signature_or_none(text: str) -> None:
    assert len(REFERENCE.sign(text)) in (0, PARTS)


BITS = 64
_SIGNATURES = st.lists(st.integers(0, 1), min_size=BITS, max_size=BITS).map(bytes)


def flipped(signature: bytes, places: set[int]) -> bytes:
    return bytes(bit ^ (place in places) for place, bit in enumerate(signature))


@given(signature=_SIGNATURES, places=st.permutations(range(BITS)))
def test_a_signature_is_found_by_every_one_in_which_three_bits_differ(signature: bytes, places: list[int]) -> None:
    """It has four blocks of 16 bits, so one of them is the same."""
    ours, theirs = block_keys(signature, 16), block_keys(flipped(signature, set(places[:3])), 16)
    assert len(ours) == len(theirs) == 4
    assert set(ours) & set(theirs)


@given(st.lists(st.tuples(st.integers(0, 2**64 - 1), st.floats(0.01, 100)), min_size=1, unique_by=lambda each: each[0]))
def test_lanes_are_the_signs_of_the_weighted_sum(terms: list[tuple[int, float]]) -> None:
    hashes, weights = np.array([h for h, _ in terms], np.uint64), np.array([w for _, w in terms])
    signature = simhash(hashes, weights)
    for lane in range(BITS):
        total = sum(w if h >> (BITS - 1 - lane) & 1 else -w for h, w in terms)
        assert abs(total) < 1e-3 or signature[lane] == (total > 0)


@pytest.mark.parametrize(("changed", "answer"), [(0, "copy"), (3, "copy"), (4, "related"), (7, "related"), (8, "none")])
async def test_up_to_three_bits_are_a_copy_and_four_to_seven_related(
    open_store: OpenIndex, changed: int, answer: str
) -> None:
    index = await open_store(Policy(PRESETS["simhash"]), system=PUBLISHED)
    first = bytes(place % 2 for place in range(BITS))
    for number, signature in enumerate((first, flipped(first, set(range(changed))))):
        document = Document(int(START).to_bytes(4, "big").hex() + f"{number:08x}", "", "", "", "", START)
        print_ = Fingerprint(
            9,
            bytes([number]) * 8,
            bytes(8),
            bytes(4),
            signature=signature,
            identity_keys=(number,),
            band_keys=block_keys(signature, 16),
        )
        match = (await checked(index, print_, document)).decision.match

    assert ("none" if match is None else "related" if match.related else "copy") == answer
