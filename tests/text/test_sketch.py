"""Document -> Fingerprint: the same everywhere, and as alike as the texts are."""

import math
import os
import re
import subprocess
import sys
import unicodedata
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from long_form import LONG, tries
from numpy.typing import NDArray

from scrapy_neardup.content.head import read_head
from scrapy_neardup.detector import NearDupDetector
from scrapy_neardup.document import Document, Fingerprint, Verdict
from scrapy_neardup.evidence.likeness import resemblance
from scrapy_neardup.settings.presets import PRESETS, VECTOR_PARAMETERS, Preset
from scrapy_neardup.sketch.fingerprint import Sketcher
from scrapy_neardup.sketch.signatures import load_minhash, minima
from scrapy_neardup.text.folding import fold
from scrapy_neardup.text.tokenizer import Reading

NEWS = PRESETS["news"]
ENGLISH = "The bridge over the river was closed on Monday after engineers had found cracks in two of its piers. " * 3
JAPANESE = (
    "水族館は来月から新しい展示を始めると発表した。館長は多くの人に見てほしいと話している。入場料は変わらない。" * 2
)
THAI = "สะพานข้ามแม่น้ำถูกปิดในวันจันทร์หลังจากวิศวกรพบรอยร้าวที่เสาสองต้นและจะเปิดอีกครั้งในเดือนหน้า" * 2


def fingerprint(text: str, preset: Preset = NEWS, **parts: str) -> Fingerprint:
    document = Document("00" * 8, parts.get("url", ""), parts.get("source", ""), "", text, 0.0, parts.get("url", ""))
    return Sketcher(preset).fingerprint(document)


_PRINT = """
import sys
from numpy.typing import NDArray
from scrapy_neardup.document import Document
from scrapy_neardup.sketch.fingerprint import Sketcher
from scrapy_neardup.settings.presets import PRESETS
document = Document("00" * 8, "u", "s", "", sys.stdin.read(), 0.0, "u")
print(Sketcher(PRESETS["news"]).fingerprint(document), PRESETS["news"].config())
"""


def test_a_fingerprint_is_the_same_in_every_process_under_every_hash_seed() -> None:
    text = "\n".join((ENGLISH, JAPANESE, THAI))
    printed = {
        subprocess.run(
            [sys.executable, "-c", _PRINT],
            input=text.encode(),
            capture_output=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONUTF8": "1", "PYTHONPATH": os.pathsep.join(sys.path)},
        ).stdout
        for seed in ("0", "1", "4711")
    }
    assert len(printed) == 1


def test_a_fingerprint_does_not_change_without_a_new_normaliser() -> None:
    """These bytes lie in stores: whoever changes them raises NORMALISER, so that old and new never meet."""
    made = fingerprint(ENGLISH, url="wire.example/a", source="wire.example")
    assert made.signature[:8].hex() == "c3a6fcf60ad7e95b"
    assert made.text_hash.hex() == "643f136683b432b0"
    assert made.url_hash.hex() == "e669f81a7fffca68"
    assert made.source_hash.hex() == "fea4619f"
    assert (made.identity_keys, made.band_keys[:2]) == ((3501354991, 3167468962), (3799612432, 1395844099))


@given(st.text())
def test_any_text_has_a_fingerprint(text: str) -> None:
    made = fingerprint(text)
    assert len(made.text_hash) == 8
    assert len(made.signature) in (0, NEWS.num_perm)
    assert all(0 <= key < 1 << 32 for key in made.identity_keys + made.band_keys)


@pytest.mark.parametrize("text", [JAPANESE, THAI], ids=["Japanese", "Thai"])
def test_scripts_without_spaces_are_shingled_by_characters(text: str) -> None:
    letters = fold(text).replace("。", "")
    assert fingerprint(text).size == len({letters[start : start + 5] for start in range(len(letters) - 4)})


@pytest.mark.parametrize(("text", "cut"), [(JAPANESE, "来月から"), (THAI, "วิศวกร")], ids=["Japanese", "Thai"])
def test_a_light_edit_in_them_stays_alike(text: str, cut: str) -> None:
    one, other = fingerprint(text), fingerprint(text.replace(cut, "", 1))
    assert 0.6 < resemblance(one.signature, other.signature) < 1


def test_two_characters_without_spaces_count_as_a_word() -> None:
    assert fingerprint(JAPANESE[:19]).signature == b""
    assert fingerprint("".join(JAPANESE.split("。"))[:39]).signature == b""
    assert fingerprint("".join(JAPANESE.split("。"))[:40]).signature


def test_blocks_of_few_words_do_not_enter_the_fingerprint() -> None:
    caption = "Photo by A. Writer for this paper"
    longer = "This block has as many words as is asked for"
    with_caption, without = fingerprint(f"{ENGLISH}\n{caption}"), fingerprint(ENGLISH)
    assert with_caption.content_hash != without.content_hash
    assert replace(with_caption, content_hash=without.content_hash) == without
    assert fingerprint(f"{ENGLISH}\n{longer}") != fingerprint(ENGLISH)
    assert fingerprint(f"{ENGLISH}\n{caption}", replace(NEWS, min_block_words=0)) != fingerprint(ENGLISH)


def test_a_text_under_the_fewest_words_has_no_signature() -> None:
    words = ENGLISH.split()
    assert fingerprint(" ".join(words[:19])).signature == b""
    assert fingerprint(" ".join(words[:19])).band_keys == ()
    assert fingerprint(" ".join(words[:20])).signature


def sign(hashes: NDArray[np.uint32], num_perm: int, seed: int = 1) -> bytes:
    return minima([hashes], num_perm, seed)[0].astype(np.uint8).tobytes()


@pytest.mark.parametrize("true", [0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.98, 1.0])
@pytest.mark.parametrize("seed", range(2))
def test_the_estimate_lies_within_four_standard_errors(true: float, seed: int) -> None:
    numbers = np.random.default_rng(seed).permutation(1 << 20)[:2000].astype(np.uint32) * np.uint32(4093)
    shared = round(1000 * true)
    rest = (1000 - shared) // 2
    a, b = numbers[: shared + rest], np.concatenate([numbers[:shared], numbers[1000 : 1000 + rest]])
    jaccard = shared / (shared + 2 * rest)
    estimate = resemblance(sign(a, 128), sign(b, 128))
    equal = jaccard + (1 - jaccard) / 256
    assert abs(estimate - jaccard) <= 4 * math.sqrt(equal * (1 - equal) / 128)


def test_every_parameter_of_a_fingerprint_is_in_its_configuration() -> None:
    told_of_two = {"name", "measure", "threshold", "related_threshold", "topic_threshold", "collisions", "event_rule"}
    told_of_two |= {*VECTOR_PARAMETERS}
    for each in fields(Preset):
        value = getattr(NEWS, each.name)
        changed = replace(NEWS, **{each.name: _another(value)})
        assert (changed.config() == NEWS.config()) is (each.name in told_of_two), each.name


def _another(value: object) -> object:
    if isinstance(value, str):
        return value + "x"
    return value + 1 if isinstance(value, int) else value * 2 or 0.5  # type: ignore[operator]


@given(hashes=st.lists(st.integers(0, 2**32 - 1), unique=True, min_size=1, max_size=3000))
@settings(max_examples=tries(10))
def test_signatures_are_those_that_datasketch_makes_of_one_hash_after_the_other(hashes: list[int]) -> None:
    theirs = load_minhash()(num_perm=64, seed=3, scheme="affine32", hashfunc=int)
    for each in hashes:
        theirs.update(each)
    made = minima([np.arange(9, dtype=np.uint32), np.array(hashes, dtype=np.uint32)], 64, 3)
    assert made[1].tolist() == theirs.hashvalues.tolist()


_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u19e0-\u19ff\ua9e0-\ua9ff\uaa60-\uaa7f\u3005-\u3007\u3031-\u3035"
    "\u3040-\u30ff\u3100-\u312f\u31a0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
PUNCTUATED = st.sampled_from(
    "\u2018\u2019\u201c\u201d\u2013\u2014\u2026\u2022\u00a0\u00ab\u00bb\u0301\u00e9\u0915\u093e\x1c\x1f\x85\u2028"
    "\u6771\ufb01\u00df\u0130 aB_7"
)


@pytest.fixture(scope="module")
def token() -> re.Pattern[str]:
    marks = "".join(
        re.escape(chr(code))
        for code in range(0x300, sys.maxunicode + 1)
        if unicodedata.category(chr(code)) in ("Mn", "Mc") and not re.match(f"[{_UNSPACED}]", chr(code))
    )
    return re.compile(f"[{_UNSPACED}]|[^\\W{_UNSPACED}]+(?:[{marks}]+[^\\W{_UNSPACED}]*)*")


def test_characters_have_the_tokens_of_one_expression(token: re.Pattern[str]) -> None:
    characters = [
        chr(code) for code in range(1, 0x10000, 1 if LONG else 3) if unicodedata.category(chr(code)) not in ("Cs", "Cn")
    ]
    lines = [f"a{character}b {character}" for character in characters]
    for first in range(0, len(lines), 100):
        text = "\n".join(lines[first : first + 100])
        assert Reading.of(text).tokens() == token.findall(fold(text).casefold())


@example(["ab ba straße", "aab b STRASSE"])
@given(st.lists(st.text(PUNCTUATED, min_size=1, max_size=12), min_size=2, max_size=2))
def test_tokens_have_one_hash_exactly_where_they_are_the_same(texts: list[str]) -> None:
    one, other = map(Reading.of, texts)
    tokens = one.tokens() + other.tokens()
    hashes = [*one.hashes.tolist(), *other.hashes.tolist()]
    assert len(set(tokens)) == len(set(zip(tokens, hashes, strict=True))) == len(set(hashes))


TEXT = Path(__file__).with_name("stories.txt").read_text("utf-8")
STORIES = {
    script: (lines.splitlines()[:3], lines.splitlines()[3:6])
    for script, lines in re.findall(r"^\[(\w+)\]\n([^\[]*)", TEXT, re.MULTILINE)
}
"""Of each script the paragraphs of two stories."""


async def judge(detector: NearDupDetector, *paragraphs: str) -> Verdict:
    return await detector.check(detector.document("\n".join(paragraphs)))


@pytest.mark.parametrize("script", STORIES)
async def test_copies_are_found_and_stories_kept_apart(detector: NearDupDetector, script: str) -> None:
    ferry, library = STORIES[script]
    assert (await judge(detector, *ferry)).status == "original"
    assert (await judge(detector, *library)).status == "original"
    assert (await judge(detector, *ferry)).kind == "exact"
    assert (await judge(detector, ferry[1], ferry[0])).status == "duplicate"  # abridged, and in another order
    assert (await judge(detector, *ferry, library[2])).status == "duplicate"  # extended


@pytest.mark.parametrize("script", STORIES)
async def test_how_a_text_is_encoded_and_set_makes_no_difference(detector: NearDupDetector, script: str) -> None:
    text = "\n".join(STORIES[script][0])
    await judge(detector, text)
    for variant in (
        *(unicodedata.normalize("NFD", text), text.upper(), f"\ufeff{text}", text.replace("\n", "\r\n")),
        *(text.replace(" ", "   "), text.replace(".", " !"), text + "\nShare this\n"),
    ):
        assert (await judge(detector, variant)).kind == "exact"


@pytest.mark.parametrize(
    ("html_", "language"),
    [
        ('<!doctype html><html lang="pt-BR"><head>', "pt"),
        ("<HTML class=js data-lang='xx' LANG=EN-us>", "en"),
        ('<html xmlns="http://www.w3.org/1999/xhtml" xml:lang="uk">', "uk"),
        ('<html><head><meta property="og:locale" content="sr_RS"></head>', "sr"),
        ('<html lang=""><meta content="fil, en" http-equiv="Content-Language">', "fil"),
        ('<html lang="el"><meta property="og:locale" content="en_US">', "el"),
        ('<html lang="und"><meta property="og:locale" content="en_US">', "en"),
        ('<!-- <html lang="de"> --><html lang="fr">', "fr"),
        ('<html data-x="lang=de"><body lang="it">', ""),
        ('<html lang="{{ lang }}">', ""),
        ('<meta name="description" content="en"><p>nothing</p>', ""),
        ("", ""),
    ],
)
def test_a_page_names_its_language(html_: str, language: str) -> None:
    assert read_head(html_).language == language
    assert read_head(html_.encode()).language == language


def test_a_text_is_sketched_alike_alone_and_together_with_one_of_another_script() -> None:
    sketcher = Sketcher(NEWS)
    assert sketcher.whole(ENGLISH, JAPANESE) == [*sketcher.whole(ENGLISH), *sketcher.whole(JAPANESE)]
