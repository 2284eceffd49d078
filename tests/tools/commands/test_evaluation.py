"""``eval`` and ``explain``: the measures by hand, labels that cannot be relied on, and the commands themselves."""

import json
import re
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from json_lines import write_lines
from news_site import article
from newsdesk import made_up, report, text
from scrapy_processes import run_scrapy

from scrapy_neardup.detector import NearDupDetector
from scrapy_neardup.exceptions import InputError
from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.tools.commands.eval import Score, b_cubed, best_threshold, evaluate, online, pairwise_score
from scrapy_neardup.tools.commands.explain import as_stored, explain_pair
from scrapy_neardup.tools.lab.feed import RecordedDocument, read_checked, read_labelled, without_labelled
from scrapy_neardup.tools.lab.replay import RecordedPage, document_of

FERRY = (
    "A ferry with ninety people on board sank in the strait on Sunday night, and rescue boats searched the cold water "
    "until dawn. The captain told the coast guard that a door of the car deck had stood open. Fishermen from three "
    "villages pulled most of the passengers out, and a hospital ship took the injured to the mainland."
)
COMET = article("comet", 45)


def numbers(score: Score) -> tuple[float, float, float]:
    return score.precision, score.recall, score.f1


# Six documents of clusters A A A B B and background, predicted as {0, 1, 3}, {2}, {4, 5}.
CLUSTERS = ["A", "A", "A", "B", "B", None]
PREDICTED = [0, 0, 2, 0, 4, 4]


def test_the_measures_by_hand() -> None:
    # Found: 01, 03, 13, 45; right: 01. Wanted: 01, 02, 12, 34.
    assert numbers(pairwise_score(CLUSTERS, PREDICTED)) == pytest.approx((1 / 4, 1 / 4, 1 / 4))
    # Purity: 2/3, 2/3, 1, 1/3, 1/2. Completeness: 2/3, 2/3, 1/3, 1/2, 1/2.
    precision, recall = (19 / 6) / 5, (8 / 3) / 5
    f1 = 2 * precision * recall / (precision + recall)
    assert numbers(b_cubed(CLUSTERS, PREDICTED)) == pytest.approx((precision, recall, f1))
    # 1 right; 3 to the wrong cluster; 4 missed; 5 (background) linked to a labelled document; 2 right.
    score = online(CLUSTERS, [None, 0, 1, 0, None, 3])
    assert numbers(score) == pytest.approx((2 / 4, 2 / 3, 4 / 7))


@given(st.lists(st.sampled_from("ABCDE"), max_size=30))
def test_the_true_clusters_are_a_perfect_answer(clusters: list[str]) -> None:
    first: dict[str, int] = {}
    links = [None if first.setdefault(name, n) == n else first[name] for n, name in enumerate(clusters)]
    assert pairwise_score(clusters, clusters) == Score(1, 1)
    assert numbers(b_cubed(clusters, clusters)) == pytest.approx((1, 1, 1))
    assert online(clusters, links) == Score(1, 1)


def page(number: int, text: str, reason: Any = None, site: str = "") -> RecordedPage:
    url = f"https://{site or f'paper{number}.example'}/story{number}"
    return RecordedPage(
        RecordedDocument(number, f"feed.jsonl:{number}", f"d{number}", url, "", None, text, None, None), text, reason
    )


def prose(seed: str, words: int) -> str:
    return " ".join(made_up(seed, words)).capitalize() + "."


async def test_an_order_knows_nothing_of_the_order_before_it() -> None:
    wall = "\n".join(prose(f"wall {n}", 14) for n in range(12))
    pages = [page(n, prose(f"article {n}", 42) + "\n" + wall, site="one.example") for n in range(12)]
    both = await evaluate(pages, NearDupSettings(), [0, 1])
    (alone,) = await evaluate(pages, NearDupSettings(), [1])
    assert {None} < set(alone.matches)
    assert both[1] == alone


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
    kept, left_out = without_labelled(read_checked([background]), labelled)
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


async def test_comparison_names_what_changed() -> None:
    comparison = await compare(document(FERRY), document(FERRY.replace("ninety", "forty")), NearDupSettings())
    assert comparison.status == "update"
    assert any(line.startswith("changed: ") and "90 -> 40" in line for line in comparison.why)
    ((old, new, differs),) = comparison.sentences
    assert ("ninety" in old, "forty" in new, differs) == (True, True, "ninety -> forty")


async def test_comparison_names_the_guards_of_a_drop() -> None:
    comparison = await compare(document(f"Officials say: {FERRY}"), document(FERRY), NearDupSettings())
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


Neardup = Callable[..., "subprocess.CompletedProcess[str]"]


def story(seed: int, words: int = 150) -> str:
    """Words of no story but this one."""
    return " ".join(made_up(seed, words))


def edited(text: str, number: int) -> str:
    words = text.split()
    words[number * 7 % len(words)] = f"edit{number}"
    return " ".join(words)


@pytest.fixture
def neardup(tmp_path: Path) -> Neardup:
    """Runs the command outside any project, in a folder of its own."""

    def run(*arguments: str, code: int = 0, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        done = run_scrapy(tmp_path, "neardup", *arguments, environment={"COLUMNS": "160", **(env or {})})
        assert done.returncode == code, done.stdout + done.stderr
        return done

    return run


@pytest.fixture
def gold(tmp_path: Path) -> Path:
    """Two clusters of four copies, the second of which people know by two names; and a story of its own."""
    rows: list[dict[str, Any]] = []
    for cluster, seed in (("ferry", 1), ("storm", 2), ("gale", 2), ("chess", 3)):
        for number in range(1 if cluster == "chess" else 4):
            rows.append(
                {
                    "id": f"{cluster}{number}",
                    "url": f"https://{cluster}{number}.example/",
                    "text": edited(story(seed), number + len(rows)),
                    "cluster": cluster,
                    "merged": "storm" if cluster == "gale" else cluster,
                }
            )
    return write_lines(tmp_path / "gold.jsonl", rows)


def test_eval_for_machines(neardup: Neardup, gold: Path) -> None:
    found, of_stories = (
        json.loads(neardup("eval", str(gold), "--label", label, "--seeds", "2", "--json").stdout)
        for label in ("cluster", "merged")
    )
    assert (found["documents"], found["background"], found["errors"], found["orders"]) == (13, 0, 0, 2)
    assert (found["clusters"], of_stories["clusters"]) == (4, 3)
    merged = of_stories["protocols"]
    assert tuple(merged) == ("online", "pairwise", "b-cubed")
    for protocol in merged:
        assert {merged[protocol][name] for name in ("precision", "recall", "f1")} == {1.0}
        assert merged[protocol]["f1_by_order"] == [1.0] * 2
    # Storm and gale are one story: of the 6 + 28 pairs in stories, 6 + 12 are in clusters.
    assert found["protocols"]["pairwise"]["precision"] == round(18 / 34, 4)
    assert found["protocols"]["pairwise"]["recall"] == 1


def test_eval_counts_links_to_background(neardup: Neardup, gold: Path, tmp_path: Path) -> None:
    rows = [{"id": "copy", "text": edited(story(3), 5)}, *({"id": n, "text": story(50 + n)} for n in range(5))]
    background = write_lines(tmp_path / "background.jsonl", rows)
    given = "--label", "merged", "--background", str(background), "--seeds", "1"
    found = json.loads(neardup("eval", str(gold), *given, "--json").stdout)
    assert (found["documents"], found["background"]) == (13, 6)
    online = found["protocols"]["online"]
    # 3 + 7 links are right; one more, of the copy and the chess story, is not.
    assert (online["precision"], online["recall"]) == (round(10 / 11, 4), 1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--label", "topic"], "no line has the label 'topic'; choose another with --label: cluster, merged"),
        (["--seeds", "0"], "argument --seeds: must be 1 or more, not '0'"),
        (["-s", 'NEARDUP_PRESET_OPTIONS={"threshold": 2}'], 'NEARDUP_PRESET_OPTIONS["threshold"] = 2: must be'),
        (["--background", "gone.jsonl"], "gone.jsonl: cannot be read"),
    ],
)
def test_eval_says_what_is_wrong(neardup: Neardup, gold: Path, arguments: list[str], message: str) -> None:
    done = neardup("eval", str(gold), *arguments, code=2)
    assert message in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_eval_tells_the_best_threshold(neardup: Neardup, tmp_path: Path) -> None:
    # Pairs of copies, and a pair that shares two thirds of its words: no copy, say the labels.
    shared = f"{story(9)} {story(12)}"
    texts = {"a": [story(1), edited(story(1), 3)], "b": [f"{shared} {story(10)}"], "c": [f"{shared} {story(11)}"]}
    rows = [
        {"id": f"{name}{n}", "text": text, "cluster": name}
        for name, each in texts.items()
        for n, text in enumerate(each)
    ]
    path = str(write_lines(tmp_path / "shared.jsonl", rows))
    printed = neardup("eval", path).stdout
    assert "Best threshold for copies: 0.7. The present one is 0.45\n" in printed
    assert "4 documents, mean of 5 orders" in printed
    assert [printed.count(protocol) for protocol in ("online", "pairwise", "b-cubed")] == [1, 1, 1]


def test_explain_two_files(neardup: Neardup, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(f"By A. Writer\n{story(1)}\n{story(2)}")
    (tmp_path / "b.html").write_text(f"<title>Two storms</title><body><article><p>{story(1)}</p></article></body>")
    printed = neardup("explain", "a.txt", "b.html").stdout
    assert "B  Two storms\n" in printed, "as a crawl reads the page"
    assert "B after A: duplicate/abridged\n" in printed
    assert "\n  containment 1.00 >= threshold = 0.45\n" in printed


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("gone.html", "there is no such file"),
        ("gold.jsonl", "name one, as gold.jsonl#ID"),
        ("gold.jsonl#nobody", "no line has the id 'nobody'"),
    ],
)
def test_explain_says_what_is_wrong(neardup: Neardup, gold: Path, name: str, message: str) -> None:
    done = neardup("explain", name, "gold.jsonl#storm0", code=2)
    assert message in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def names(seed: object, count: int) -> str:
    return " ".join(word.capitalize() for word in made_up(seed, count))


def test_the_final_stories_count(neardup: Neardup, tmp_path: Path) -> None:
    """Two reports begin two stories, and long after that a third shows that they are one."""
    rows = []
    for event in range(12):
        shared, one, other = names((event, "shared"), 4), names((event, 1), 4), names((event, 2), 4)
        for number, words in enumerate((f"{shared} {one}", f"{shared} {other}", f"{shared} {one} {other}"[:-8])):
            rows.append({"id": f"{event}-{number}", "text": report(words, (event, number)), "cluster": event})
    write_lines(tmp_path / "gold.jsonl", rows)
    # Documents that are judged together know their final stories, so there must be many.
    write_lines(tmp_path / "background.jsonl", [{"id": n, "text": text(("other", n))} for n in range(150)])
    found = neardup("eval", "gold.jsonl", "--background", "background.jsonl", "--seeds", "1", "--json").stdout
    assert json.loads(found)["protocols"]["pairwise"]["recall"] == 1
