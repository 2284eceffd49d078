"""Rows that were written earlier keep the id of their story: what it became a part of is told at the end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from json_lines import read_lines, write_lines
from newsdesk import MINUTE, Newsroom, opened, text
from other_words import BOTH, BUDGET, STRIKE
from projects import Project
from scrapy_processes import run_scrapy
from servers import RedisServer

SPIDER = f"""
class News(scrapy.Spider):
    name = "news"
    start_urls = ["data:,"]

    def parse(self, response):
        for source, body in zip("abc", {[BUDGET, STRIKE, BOTH]!r}):
            yield {{"url": f"https://{{source}}.example/news", "text": body}}
"""


def feeds(project: Project) -> list[Path]:
    return sorted((project.folder / ".scrapy/neardup-stories").glob("*"))


async def publish_three(room: Newsroom) -> list[str | None]:
    texts = {"a": BUDGET, "b": STRIKE, "c": BOTH}
    verdicts = [await room.publish(name, name, MINUTE, text=each) for name, each in texts.items()]
    return [verdict.story for verdict in verdicts]


async def test_a_store_that_is_gone_leaves_what_this_process_knows(
    redis_server: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    async with opened(store=redis_server.url, store_timeout=3) as room:
        await publish_three(room)
        expected = await room.detector.final_stories()
        redis_server.stop()
        assert await room.detector.final_stories() == expected != {}
    assert len([record for record in caplog.records if "final stories cannot be read" in record.message]) == 1


def test_a_crawl_lists_the_stories_that_moved(project: Project) -> None:
    crawl = project.crawl(SPIDER, LOG_LEVEL="INFO")
    (feed,) = feeds(project)
    (row,) = read_lines(feed)
    stories = [item["neardup_story"] for item in crawl.items]
    assert set(row) == {"story", "final_story"}
    assert row["story"] in stories[:2]
    assert stories[2] == row["final_story"]
    assert crawl.neardup["stories_united"] == 1
    assert crawl.lines("INFO", "neardup-stories: stories that became one are written to", str(feed))


def test_a_replay_gives_final_stories_in_ids_of_the_input(tmp_path: Path) -> None:
    # Documents that are judged together share their final stories, so other documents stand between these.
    others = [(f"other {number}", text(number)) for number in range(256)]
    rows = [
        {"id": name, "url": f"https://{name}.example/news", "time": 1_700_000_000 + number, "text": body}
        for number, (name, body) in enumerate((("budget", BUDGET), ("strike", STRIKE), *others, ("both", BOTH)))
    ]
    write_lines(tmp_path / "in.jsonl", rows)
    command = ("neardup", "replay", "in.jsonl", "-O", "out.jsonl", "--stories", "stories.jsonl")
    done = run_scrapy(tmp_path, *command, "--json")
    assert done.returncode == 0, done.stderr
    stories = {row["id"]: row["story"] for row in read_lines(tmp_path / "out.jsonl") if "other" not in row["id"]}
    assert stories == {"budget": "budget", "strike": "strike", "both": "budget"}
    assert read_lines(tmp_path / "stories.jsonl") == [{"story": "strike", "final_story": "budget"}]
    assert json.loads(done.stdout)["stories_united"] == 1
    assert "became a part" in run_scrapy(tmp_path, *command).stdout
    assert run_scrapy(tmp_path, *command[:-1], "in.jsonl").returncode == 2
