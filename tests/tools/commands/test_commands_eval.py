"""``eval`` and ``explain`` as people run them."""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from json_lines import write_lines
from newsdesk import made_up, report, text
from scrapy_processes import run_scrapy

Neardup = Callable[..., "subprocess.CompletedProcess[str]"]

WORDS = (
    "harbour minister election railway vaccine orchard glacier verdict museum parliament drought ferry budget comet "
    "strike festival embassy reservoir bridge tunnel campaign senate volcano refinery cyclone merger airline harvest"
).split()


def story(seed: int, words: int = 150) -> str:
    """Words of no story but this one: two of them share hardly a shingle."""
    rng = random.Random(seed)
    return " ".join(f"{rng.choice(WORDS)}{rng.randrange(1000)}" for _ in range(words))


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


def test_eval_prints_a_table_of_every_protocol(neardup: Neardup, gold: Path) -> None:
    printed = neardup("eval", str(gold), "--label", "merged").stdout
    assert "13 documents, mean of 5 orders" in printed
    for protocol in ("online", "pairwise", "b-cubed"):
        assert printed.count(protocol) == 1


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
    assert found["bytes"] > 0


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
        (["-s", "NEARDUP_PRESET=newz"], "NEARDUP_PRESET = 'newz': must be one of"),
        (["-s", 'NEARDUP_PRESET_OPTIONS={"threshold": 2}'], 'NEARDUP_PRESET_OPTIONS["threshold"] = 2: must be'),
        (["--workers", "0"], "argument --workers: must be 1 or more, not '0'"),
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
    assert "Best threshold for copies: 0.7. The present one is 0.45\n" in neardup("eval", path).stdout


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
        ("gold.jsonl", "name one, as gold.jsonl#ferry0"),
        ("gold.jsonl#nobody", "no line has the id 'nobody'"),
        ("http://[broken", "there is no such file"),
    ],
)
def test_explain_says_what_is_wrong(neardup: Neardup, gold: Path, name: str, message: str) -> None:
    done = neardup("explain", name, "gold.jsonl#storm0", code=2)
    assert message in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


# Reports in other words


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
