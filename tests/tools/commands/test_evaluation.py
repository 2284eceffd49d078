"""The measures against values worked out by hand, their laws, and what is said of labels that cannot be relied on."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from json_lines import write_lines
from newsdesk import made_up, text

from scrapy_neardup.detector import NearDupDetector
from scrapy_neardup.exceptions import InputError
from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.tools.commands.eval import Score, b_cubed, best_threshold, evaluate, mean, online, pairwise
from scrapy_neardup.tools.commands.explain import as_stored, explain_pair
from scrapy_neardup.tools.lab.feed import RecordedDocument, read_background, read_labelled, without_labelled
from scrapy_neardup.tools.lab.replay import RecordedPage, document_of

FERRY = (
    "A ferry with ninety people on board sank in the strait on Sunday night, and rescue boats searched the cold water "
    "until dawn. The captain told the coast guard that a door of the car deck had stood open. Fishermen from three "
    "villages pulled most of the passengers out, and a hospital ship took the injured to the mainland."
)
COMET = (
    "Astronomers at the southern observatory have found a comet that nobody had expected before next year. It will "
    "pass the orbit of Mars in spring and may be seen without a telescope for about a week. Its tail holds more "
    "carbon than any other on record, the team writes in a paper that came out yesterday."
)
BAKERY = (
    "The oldest bakery of the town closes after four generations because no apprentice wants to rise at two in the "
    "morning. The owner hopes that a museum takes the stone oven, which was built before the railway came. On the last "
    "day customers stood in a queue around the market square for a loaf of rye bread."
)


def approx(precision: float, recall: float, f1: float) -> Any:
    return pytest.approx((precision, recall, f1))


def numbers(score: Score) -> tuple[float, float, float]:
    return score.precision, score.recall, score.f1


# Six documents of clusters A A A B B and background, predicted as {0, 1, 3}, {2}, {4, 5}.
CLUSTERS = ["A", "A", "A", "B", "B", None]
PREDICTED = [0, 0, 2, 0, 4, 4]


def test_pairwise_by_hand() -> None:
    # Found: 01, 03, 13, 45; right: 01. Wanted: 01, 02, 12, 34.
    assert numbers(pairwise(CLUSTERS, PREDICTED)) == approx(1 / 4, 1 / 4, 1 / 4)


def test_b_cubed_by_hand() -> None:
    # Purity: 2/3, 2/3, 1, 1/3, 1/2. Completeness: 2/3, 2/3, 1/3, 1/2, 1/2.
    precision, recall = (19 / 6) / 5, (8 / 3) / 5
    f1 = 2 * precision * recall / (precision + recall)
    assert numbers(b_cubed(CLUSTERS, PREDICTED)) == approx(precision, recall, f1)


def test_online_by_hand() -> None:
    # 1 right; 3 to the wrong cluster; 4 missed; 5 (background) linked to a labelled document; 2 right.
    score = online(CLUSTERS, [None, 0, 1, 0, None, 3])
    assert numbers(score) == approx(2 / 4, 2 / 3, 4 / 7)


@given(st.lists(st.sampled_from("ABCDE"), max_size=30))
def test_the_true_clusters_are_a_perfect_answer(clusters: list[str]) -> None:
    first: dict[str, int] = {}
    links = [None if first.setdefault(name, n) == n else first[name] for n, name in enumerate(clusters)]
    assert pairwise(clusters, clusters) == Score(1, 1, 1)
    assert numbers(b_cubed(clusters, clusters)) == approx(1, 1, 1)
    assert online(clusters, links) == Score(1, 1, 1)


def page(number: int, text: str, reason: Any = None, site: str = "") -> RecordedPage:
    url = f"https://{site or f'paper{number}.example'}/story{number}"
    return RecordedPage(
        RecordedDocument(number, f"feed.jsonl:{number}", f"d{number}", url, "", None, text, None, None), text, reason
    )


def edited(text: str, seed: int) -> str:
    words = text.split()
    words[3 + seed] = f"changed{seed}"
    return " ".join(words)


async def test_evaluation_of_copies_and_a_stranger() -> None:
    pages = [page(n, edited(FERRY, n)) for n in range(4)] + [page(4 + n, edited(COMET, n)) for n in range(3)]
    pages.append(page(9, BAKERY))
    evaluation = await evaluate(pages, NearDupSettings(store="redis://nowhere.invalid"), range(3))
    scores = evaluation.scores(["ferry"] * 4 + ["comet"] * 3 + [None])
    assert all(numbers(mean(each)) == approx(1, 1, 1) for each in scores.values())
    assert len({order.positions for order in evaluation.orders}) == 3
    assert evaluation.bytes is not None


async def test_a_missed_copy_costs_recall_and_a_false_one_precision() -> None:
    pages = [page(1, FERRY), page(2, edited(FERRY, 1)), page(3, COMET)]
    evaluation = await evaluate(pages, NearDupSettings(), [0])
    assert numbers(*evaluation.scores(["x", "x", "x"])["online"]) == approx(1, 0.5, 2 / 3)
    assert numbers(*evaluation.scores(["x", "y", "z"])["online"]) == approx(0, 1, 0)


def prose(seed: str, words: int) -> str:
    return " ".join(made_up(seed, words)).capitalize() + "."


async def test_an_order_knows_nothing_of_the_order_before_it() -> None:
    wall = "\n".join(prose(f"wall {n}", 14) for n in range(12))
    pages = [page(n, prose(f"article {n}", 42) + "\n" + wall, site="one.example") for n in range(12)]
    both = await evaluate(pages, NearDupSettings(), [0, 1])
    (alone,) = (await evaluate(pages, NearDupSettings(), [1])).orders
    assert {None} < set(alone.matches)
    assert both.orders[1] == alone


def test_among_equally_good_thresholds_the_nearest_to_the_present_one_is_the_best() -> None:
    assert best_threshold({0.3: 0.8, 0.5: 0.95, 0.6: 0.95, 0.7: 0.95, 0.72: 0.9}, 0.72) == 0.7
    assert best_threshold({0.3: 0.8, 0.5: 0.95, 0.6: 0.95, 0.45: 0.95}, 0.45) == 0.45


Row = dict[str, Any]


def row(number: int, cluster: str | None = "A", **more: Any) -> Row:
    labels = {} if cluster is None else {"cluster": cluster}
    return {"id": f"d{number}", "text": FERRY, **labels, **more}


def written(tmp_path: Path, *rows: Row | str | bytes) -> Path:
    path = tmp_path / "labelled.jsonl"
    lines = [line if isinstance(line, bytes | str) else json.dumps(line) for line in rows]
    path.write_bytes(b"\n".join(line.encode() if isinstance(line, str) else line for line in lines))
    return path


def test_labels_are_read_beside_their_documents(tmp_path: Path) -> None:
    path = written(tmp_path, row(1, merged=7), row(2, merged=7), row(3, "B", merged=7))
    documents, clusters = read_labelled(path)
    assert [document.id for document in documents] == ["d1", "d2", "d3"]
    assert clusters == ["A", "A", "B"]
    assert read_labelled(path, "merged")[1] == ["7", "7", "7"]


@pytest.mark.parametrize(
    ("rows", "line", "message"),
    [
        ([row(1), row(2, None)], 2, "the label 'cluster' must be a text or a whole number, not None"),
        ([row(1), row(2, "")], 2, "must be a text or a whole number, not ''"),
        ([row(1), row(2, ["A"])], 2, "must be a text or a whole number, not ['A']"),
        ([row(1), row(2, True)], 2, "must be a text or a whole number, not True"),
        ([row(1), row(1)], 2, "line 1 has the same id 'd1'"),
        ([row(1), "{not json"], 2, "not JSON"),
        ([row(1), b'{"id": "caf\xe9"}'], 2, "not UTF-8"),
        ([row(1), {"id": 2, "cluster": "A"}], 2, "needs 'text', 'html' or 'file'"),
    ],
)
def test_labels_that_cannot_be_relied_on(tmp_path: Path, rows: list[Any], line: int, message: str) -> None:
    path = written(tmp_path, *rows)
    with pytest.raises(InputError) as error:
        read_labelled(path)
    assert f"{path}:{line}: " in str(error.value)
    assert message in str(error.value)


def test_background_needs_no_labels_but_sound_lines(tmp_path: Path) -> None:
    path = written(tmp_path, {"id": 1, "text": FERRY}, {"id": 2, "text": COMET})
    assert [document.id for document in read_background([path, path])] == [1, 2, 1, 2]
    with pytest.raises(InputError, match=r"labelled\.jsonl:1: not JSON"):
        read_background([written(tmp_path, "{")])


def test_labelled_documents_are_left_out_of_the_background(tmp_path: Path) -> None:
    known = [row(1), row(2, "B")]
    labelled, _ = read_labelled(
        written(tmp_path, known[0], {**known[1], "url": "https://paper.example/2", "text": COMET})
    )
    rows = [
        {"id": 1, "text": f"{FERRY} Nothing else."},
        {"id": "other", "text": FERRY},
        {"id": "changed", "url": "https://paper.example/2", "text": "An update of the second document."},
    ]
    background = tmp_path / "background.jsonl"
    write_lines(background, rows)
    kept, left_out = without_labelled(read_background([background]), labelled)
    assert [document.id for document in kept] == [1], "another text may have the same id"
    assert left_out == [f"{background}:2", f"{background}:3"]


# Two documents: how alike they are, and the reasons that are given for the verdict


def document(text: str, url: str = "", title: str = "") -> RecordedPage:
    return RecordedPage(RecordedDocument(1, "", 1, url, title), text)


async def compare(first: RecordedPage, second: RecordedPage, settings: NearDupSettings) -> SimpleNamespace:
    """Compare two documents in an empty window."""
    detector = NearDupDetector(replace(settings, store="memory://"))
    a, b = (as_stored(detector, document_of(each, detector)) for each in (first, second))
    return SimpleNamespace(**explain_pair(detector, a, b))


async def test_comparison_of_an_abridged_copy() -> None:
    whole = f"By our reporter\n{FERRY}\n{COMET}"
    comparison = await compare(document(whole), document(COMET), NearDupSettings())
    assert (comparison.status, comparison.kind) == ("duplicate", "abridged")
    assert comparison.containment == pytest.approx(1, abs=0.1)
    assert comparison.resemblance == pytest.approx(len(COMET) / len(FERRY + COMET), abs=0.15)
    assert any(line.startswith("containment ") and line.endswith(" >= threshold = 0.45") for line in comparison.why)


async def test_comparison_names_what_changed() -> None:
    comparison = await compare(document(FERRY), document(FERRY.replace("ninety", "forty")), NearDupSettings())
    assert comparison.status == "update"
    assert any(line.startswith("changed: ") and "90 -> 40" in line for line in comparison.why)
    ((old, new, differs),) = comparison.sentences
    assert ("ninety" in old, "forty" in new, differs) == (True, True, "ninety -> forty")


async def test_comparison_names_the_guards_of_a_drop() -> None:
    comparison = await compare(document(FERRY), document(FERRY.replace("villages", "village")), NearDupSettings())
    assert comparison.status == "duplicate"
    assert any("NEARDUP_DROP_SHARE = 0.7" in line for line in comparison.why)
    assert comparison.why[-1] == "no sentence says what the older text does not say"
    assert comparison.sentences == []


async def test_comparison_of_two_reports_of_one_form() -> None:
    def report(company: str, cents: int, day: int) -> RecordedPage:
        return document(
            f"The directors of {company} said that the board has declared a dividend of {cents} cents for every share "
            f"of the company. It is payable on the {day} of the month to holders of record on the {day + 2} of it."
        )

    comparison = await compare(report("Harbour Optics", 12, 3), report("Northern Cement", 31, 14), NearDupSettings())
    assert comparison.status == "original"
    assert comparison.why[-1] == "two reports of one form, filled in with other names or figures"


async def test_comparison_of_strangers() -> None:
    comparison = await compare(document(FERRY), document(COMET), NearDupSettings())
    assert comparison.status == "original"
    assert comparison.why == [
        "weight of the look-up keys that both have 0 < 4",
        "so they are never compared; if they were:",
        "containment 0.00 < threshold = 0.45",
        "score of the topics 0.00 < topic_threshold = 0.28",
    ]


async def test_two_texts_of_one_source_under_different_titles_are_no_copies_and_the_reason_is_given() -> None:
    first, second = (
        document(f"{text('common', 200)}\n{text(title, 60)}", f"https://paper.example/{title[:4]}", title)
        for title in ("Ferry aground near Skerrow", "Harbour closed after storm")
    )
    comparison = await compare(first, second, NearDupSettings())
    assert comparison.status == "original"
    assert comparison.score >= NearDupSettings().resolved_preset().threshold
    mean = next(each for each in comparison.why if each.startswith("their weighted mean"))
    assert re.fullmatch(r"their weighted mean 0\.\d+ < 0\.67", mean)


async def test_a_wall_is_named_and_not_the_proof_before_it() -> None:
    first, second = (document(FERRY, f"https://paper.example/{n}", title) for n, title in enumerate(("Roof", "Fish")))
    comparison = await compare(first, second, NearDupSettings())
    assert comparison.status == "unchecked"
    assert "one source has the text under titles without a common word" in comparison.why


async def test_a_scope_that_excludes_the_pair_is_named() -> None:
    copies = [document(FERRY + end, f"https://{site}.example/") for site, end in (("one", ""), ("two", " It is late."))]
    comparison = await compare(*copies, NearDupSettings(scope="same-source"))
    assert comparison.why[-1] == "NEARDUP_SCOPE = same-source allows no match of two sources"
