"""A mistyped subcommand, option or argument is named in one line, with the nearest one that there is."""

from __future__ import annotations

from pathlib import Path

import pytest
from scrapy_processes import neardup


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["status", "--nmaespace", "x"], "status: error: there is no option --nmaespace; is it --namespace?"),
        (["status", "--jsn=x"], "status: error: there is no option --jsn; is it --json?"),
        (["events", "--since", "1h"], "events: error: there is no option --since ("),
        (["status", "--frobnicate"], "status: error: there is no option --frobnicate (scrapy neardup status --help"),
        (["status", "sports"], "status: error: 'sports' is one argument too many (scrapy neardup status --help"),
        (
            ["status", "--store", ".scrapy/neardup.sqlite"],
            "status: error: --store .scrapy/neardup.sqlite: a store is named by a url; is it"
            " sqlite:///.scrapy/neardup.sqlite?",
        ),
        (
            ["status", "--store", "redis.host:6379/0"],
            "status: error: NEARDUP_STORE = 'redis.host:6379/0': a store is memory://",
        ),
        (["replay"], "replay: error: the following arguments are required: INPUT (scrapy neardup replay --help"),
        (["stauts"], ": error: there is no subcommand stauts; is it status? (scrapy neardup --help"),
        (["--store", "x", "status"], ": error: 'x' stands before 'status': options of a subcommand stand behind it"),
        (["--nosuch", "status"], ": error: there is no option --nosuch"),
        (["--jsn", "status"], ": error: there is no option --jsn; is it --json?"),
        (["--nosuch"], ": error: a subcommand is missing, and there is no option --nosuch"),
        (["--json", "status"], ": error: --json stands before 'status': options of a subcommand stand behind it"),
    ],
)
def test_what_is_mistyped_is_named_in_one_line(tmp_path: Path, given: list[str], said: str) -> None:
    done = neardup(tmp_path, *given)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"scrapy neardup {said}" if said[0] != ":" else f"scrapy neardup{said}")
