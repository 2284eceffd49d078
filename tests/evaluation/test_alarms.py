"""Events as ``eval`` scores them."""

from __future__ import annotations

import json
from pathlib import Path

from scrapy_processes import neardup
from texts import article

from scrapy_neardup.evaluation.alarms import score_alarms

HOUR = 3600.0
DAY = 24 * HOUR


def test_an_event_is_found_by_the_first_alarm_of_its_cluster() -> None:
    clusters = ["fire"] * 4 + ["flood"] * 4
    times = [HOUR * number for number in range(8)]

    score = score_alarms([2], times, clusters, 4)

    assert (score.wanted, score.found, score.recall, score.delay) == (2, 1, 0.5, 2 * HOUR)
    assert score.false_a_day == 0


def test_false_are_alarms_of_the_background_and_repeated_ones() -> None:
    clusters = ["fire", "fire", "fire", "small", None, None]
    times = [0.0, HOUR, 2 * HOUR, DAY, DAY, 2 * DAY]

    score = score_alarms([1, 2, 3, 4], times, clusters, 3)

    assert (score.wanted, score.found, score.delay) == (1, 1, HOUR)
    assert score.false_a_day == 1.0  # two in two days


def test_of_nothing_all_is_found() -> None:
    score = score_alarms([], [], [], 30)

    assert (score.recall, score.delay, score.false_a_day) == (1.0, None, 0.0)


def write(path: Path, timed: bool) -> Path:
    rows = []
    for cluster in ("fire", "flood"):
        for number in range(8):
            row = {
                "id": f"{cluster}{number}",
                "url": f"https://s{number}.example/{cluster}",
                "text": article(cluster),
                "cluster": cluster,
                "original": number == 0,
            }
            # The fire is in eight papers within the hour; the flood is a day's.
            pace = 300 if cluster == "fire" else 3 * HOUR
            rows.append({**row, "time": 1_700_000_000 + number * pace} if timed else row)
    rows.reverse()
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_eval_scores_events_at_the_documents_own_times(tmp_path: Path) -> None:
    given = write(tmp_path / "timed.jsonl", timed=True)
    done = neardup(tmp_path, "eval", str(given), "--event-size", "8", "--seeds", "1", "--json")

    assert done.returncode == 0, done.stderr
    (scores,) = json.loads(done.stdout)["presets"]["news"]["events"].values()
    assert scores == {"wanted": 2, "found": 1, "recall": 0.5, "delay_minutes": 25.0, "false_a_day": 0.0}

    assert "1 of 2" in neardup(tmp_path, "eval", str(given), "--event-size", "8", "--seeds", "1").stdout


def test_without_times_no_events_are_scored(tmp_path: Path) -> None:
    given = write(tmp_path / "untimed.jsonl", timed=False)

    done = neardup(tmp_path, "eval", str(given), "--seeds", "1", "--json")

    assert "events" not in json.loads(done.stdout)["presets"]["news"]


def test_eval_says_why_no_events_are_scored(tmp_path: Path) -> None:
    untimed, timed = (write(tmp_path / f"{name}.jsonl", timed=name == "timed") for name in ("untimed", "timed"))
    given = "--event-size", "8", "--seeds", "1"
    said = " ".join(neardup(tmp_path, "eval", str(untimed), *given).stdout.split())
    count = len(untimed.read_text(encoding="utf-8").splitlines())
    assert f"Events are not scored: {count} of {count} documents have no 'time', the first at {untimed}:1." in said
    assert "the field that NEARDUP_TIME_FIELD names" in said

    said = neardup(tmp_path, "eval", str(timed), "--seeds", "1").stdout
    assert "No cluster has 30 documents (--event-size), so no events are scored." in said
    assert "median delay" not in said


def test_eval_warns_of_times_that_are_those_of_the_crawl(tmp_path: Path) -> None:
    given = write(tmp_path / "timed.jsonl", timed=True)
    rows = [json.loads(line) for line in given.read_text(encoding="utf-8").splitlines()]
    given.write_text("".join(json.dumps({**row, "time": 1_700_000_000 + n}) + "\n" for n, row in enumerate(rows)))
    said = neardup(tmp_path, "eval", str(given), "--event-size", "8", "--seeds", "1").stdout
    assert (
        f"All documents have times within {len(rows) - 1} s. If they were recorded without NEARDUP_TIME_FIELD" in said
    )
