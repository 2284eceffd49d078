"""The user of docs/redis.md may do all that the package does."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest
from fleet import documented_rights
from servers import RedisServer

from scrapy_neardup.detector import NearDupDetector
from scrapy_neardup.settings import NearDupSettings

pytestmark = pytest.mark.versions

NOTICE = "This article is for subscribers of the paper only, so please log in or buy a pass for a day to read on here."
SUBJECTS, VERBS = ("Fishermen", "Teachers", "Voters", "Engineers"), ("celebrate", "protest", "gather", "strike")
TITLES = [" ".join(words) for words in product(SUBJECTS, VERBS, ("Skerrow", "Halden"))]
REPORT = (
    "The harbour was closed at noon, because a crane had fallen over and blocked the entry for ferries and freighters."
)
OF_THE_CLIENT = "client"  # redis-py names itself if it may


@pytest.fixture
def restricted(tmp_path: Path) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path)
    server.start()
    with server.client() as client:
        client.execute_command("ACL SETUSER", "neardup", "on", ">password", *documented_rights())
    yield server
    server.stop()


def refused(server: RedisServer) -> set[str]:
    with server.client() as client:
        entries = client.acl_log()
    return {str(entry["object"]) for entry in entries} - {OF_THE_CLIENT}


@pytest.mark.parametrize(("preset", "options"), [("news", {}), ("simhash", {}), ("simhash", {"bands": 8})])
async def test_no_command_is_refused(restricted: RedisServer, preset: str, options: dict[str, int]) -> None:
    url = f"redis://neardup:password@127.0.0.1:{restricted.port}/0"
    settings = NearDupSettings(store=url, preset=preset, preset_options=options, event_rule="count")
    events = []
    for paper in ("one", "other"):
        detector = NearDupDetector(settings, delivers_later=True)
        assert detector.delivery is not None
        await detector.open()
        for title in TITLES:
            page = f"https://www.{paper}.example/{title.replace(' ', '-')}"
            document = detector.document(f"{title}.\n{NOTICE}", url=page, title=title)
            await detector.check(document)
            detector.delivery.deliver([document.id])
        await detector.delivery.withdraw([document.id])
        for number in range(40):
            await detector.check(
                detector.document(REPORT, url=f"https://www.{paper}-{number}.example/", title="Harbour")
            )
        events += detector.take_events()
        await detector.confirm_events()
        await detector.current_events()
        await detector.index.count_verdicts(1, {"original": 1})
        await detector.index.verdict_counts(0, 2)
        await detector.similar(detector.document(NOTICE))
        await detector.summary()
        await detector.purge(source=f"{paper}.example")
        await detector.finish(all_over=True)
        await detector.close()
    assert refused(restricted) == set()
    assert events
