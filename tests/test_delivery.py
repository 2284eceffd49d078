"""What counts as seen after a crawl that was killed, failed, or lost items on their way: only what it delivered."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from kills import KillingSite, Moment, kill_and_rerun


@pytest.fixture
def news() -> Iterator[KillingSite]:
    with KillingSite() as running:
        yield running


@pytest.fixture(params=["sqlite", "redis"])
def store(request: pytest.FixtureRequest) -> str:
    return "sqlite:///window.sqlite" if request.param == "sqlite" else str(request.getfixturevalue("redis_url"))


@pytest.mark.parametrize("seed", range(2))
def test_a_crawl_that_is_killed_and_run_again_loses_no_story(
    tmp_path: Path, news: KillingSite, store: str, seed: int
) -> None:
    moment = Moment.drawn(random.Random(f"{store.partition(':')[0]} {seed}"))

    outcome = kill_and_rerun(tmp_path, news, store, moment, seed)

    assert outcome.is_good, f"{moment}: {outcome}"
    assert outcome.was_killed
