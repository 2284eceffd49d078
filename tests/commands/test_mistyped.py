"""A wrong option, argument or setting of a subcommand is named in one line."""

from __future__ import annotations

from pathlib import Path

import pytest
from scrapy_processes import neardup

from scrapy_neardup.commands import SUBCOMMANDS


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["status", "--nmaespace", "x"], "status: error: unrecognized arguments: --nmaespace x ("),
        (["--json", "status"], "status: error: unrecognized arguments: --json (options go after the subcommand)"),
        (["replay"], "replay: error: the following arguments are required: INPUT (scrapy neardup replay --help"),
        (
            ["status", "--store", "redis.host:6379/0"],
            "status: error: NEARDUP_STORE = 'redis.host:6379/0': a store is memory://",
        ),
    ],
)
def test_what_is_mistyped_is_named_in_one_line(tmp_path: Path, given: list[str], said: str) -> None:
    done = neardup(tmp_path, *given)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"scrapy neardup {said}")


@pytest.mark.parametrize(("given", "name"), [(["stauts"], "stauts"), (["--store", "x", "status"], "x")])
def test_a_mistyped_subcommand_is_told_the_others(tmp_path: Path, given: list[str], name: str) -> None:
    done = neardup(tmp_path, *given)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"invalid choice: {name!r}" in done.stderr
    assert all(name in done.stderr for name in SUBCOMMANDS)
