"""No password, and nothing of a webhook's url but its host, is in the log of a crawl, in its stats or in a report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from projects import FERRY, Project
from scrapy_processes import neardup
from servers import RedisServer

SECRET = "sEcReT"


@pytest.mark.parametrize("password", [SECRET, f"another-{SECRET}"], ids=["right", "wrong"])
def test_a_crawl_that_logs_everything_logs_no_secret(tmp_path: Path, project: Project, password: str) -> None:
    server = RedisServer(tmp_path / "redis", password=SECRET).start()
    try:
        store = f"redis://:{password}@127.0.0.1:{server.port}/0"
        crawl = project.crawl(
            FERRY,
            LOG_LEVEL="DEBUG",
            NEARDUP_STORE=store,
            NEARDUP_EVENTS_STREAM=f"redis://:wrong-{SECRET}@127.0.0.1:{server.port}/0#told",
            NEARDUP_EVENTS_WEBHOOK=f"http://anna:{SECRET}@127.0.0.1:9/{SECRET}?token={SECRET}",
            NEARDUP_EVENTS_WEBHOOK_SECRET=SECRET,
            NEARDUP_EVENTS_FEED=f"ftp://anna:{SECRET}@127.0.0.1:9/events.jsonl",
        )
        status = neardup(project.folder, "status", "--json")
    finally:
        server.stop()

    assert crawl.status == 0
    assert len(crawl.items) == 7
    if password == SECRET:
        assert crawl.neardup["events/breaking"] == 1
        for told in (
            "The webhook takes no events",
            "The stream takes no events",
            "NEARDUP_EVENTS_FEED cannot be stored",
        ):
            assert crawl.lines(told)
        assert json.loads(status.stdout)["documents"] == 7
    else:
        assert crawl.lines("ERROR", "check user and password")
        assert status.returncode == 2
    assert crawl.lines("The window of the last 24 hours is in redis://***@127.0.0.1")
    for text in (crawl.log, json.dumps(crawl.stats), status.stdout + status.stderr):
        assert SECRET not in text
        assert "anna" not in text
