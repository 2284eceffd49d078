"""The how-to pages work: their settings are accepted, their code runs, their commands exist."""

import gzip
import hmac
import json
import re
import shlex
import sqlite3
import subprocess
import sys
from argparse import ArgumentParser
from contextlib import closing
from pathlib import Path
from textwrap import indent
from types import ModuleType
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from guides import GUIDES, ROOT, block, blocks, crawl_guide, settings_in
from json_lines import read_lines
from news_site import NewsSite, article, page
from newsdesk import MINUTE, START, opened
from newsdesk import text as words_of
from projects import FERRY, Project
from scrapy_processes import run_python

from scrapy_neardup import NearDupSettings
from scrapy_neardup.stories.report import special_report
from scrapy_neardup.stories.summary import message_of
from scrapy_neardup.tools.commands import SUBCOMMANDS, add_arguments

DOCS = ROOT / "docs"
PAGES = sorted({ROOT / "README.md", *DOCS.rglob("*.md")} - {DOCS / "api.md"})


def load(page: str, title: str) -> Any:
    """Import the code of a block."""
    module = ModuleType(title)
    exec(compile(block(page, title), title, "exec"), vars(module))
    return module


SETTINGS = [
    pytest.param(text, id=f"{path.stem}-{number}")
    for path in PAGES
    for number, (title, text) in enumerate(blocks(path, "python"))
    if title == "settings.py"
]


@pytest.mark.parametrize("text", SETTINGS)
def test_settings_are_accepted(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for title, code in blocks(GUIDES / "extend.md", "python"):
        if title.startswith("news/"):
            path = tmp_path / title
            path.parent.mkdir(exist_ok=True)
            path.write_text(code, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    given = {name: value for name, value in settings_in(text).items() if name.startswith("NEARDUP_")}
    NearDupSettings.from_mapping(given)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_python_is_python_and_commands_exist(path: Path) -> None:
    for _, text in blocks(path, "python"):
        if not text.startswith(">>>"):
            # Some blocks are lines of a callback.
            is_part = re.search("^(yield|await|return) ", text, re.MULTILINE)
            compile(f"async def parse():\n{indent(text, ' ')}" if is_part else text, str(path), "exec")
    for _, text in blocks(path, "sh"):
        for line in text.replace("\\\n", " ").splitlines():
            if (found := re.match(r"scrapy neardup (?!<)(.+)", line)) and "[" not in line:
                subcommand, *arguments = shlex.split(re.split(" [#>]", found[1])[0])
                assert subcommand in SUBCOMMANDS
                parser = ArgumentParser()
                parser.add_argument("-s", action="append")  # Scrapy's own
                add_arguments(parser, subcommand)
                parser.parse_args(arguments)


def test_items_of_followed_links_are_judged_by_their_page(project: Project, site: NewsSite) -> None:
    site.publish("/news", "<h2><a href='/a'>A</a></h2><h2><a href='/b'>B</a></h2>")
    for path in ("/a", "/b"):
        site.publish(path, page(article("ferry"), "Ferry runs aground"))
    assert crawl_guide(project, site, "listing-pages.md", "listing").statuses == {"original": 1, "duplicate": 1}


def test_items_with_texts_are_judged_one_by_one(project: Project, site: NewsSite) -> None:
    entries = "".join(
        f"<article><h2>{name}</h2><a href='/{name}'>more</a><p>{article(seed)}</p></article>"
        for name, seed in (("one", "ferry"), ("two", "market"), ("one-again", "ferry"))
    )
    site.publish("/ticker", f"<html><body>{entries}</body></html>")
    done = crawl_guide(project, site, "listing-pages.md", "ticker")
    # The third entry has another title, but it is the same text.
    assert [item["neardup_status"] for item in done.items] == ["original", "original", "duplicate"]


def test_the_line_for_cron_works_with_what_cron_knows(project: Project) -> None:
    project.prepare(FERRY, {})
    (project.folder / ".venv").symlink_to(sys.prefix)
    line = next(line for line in (DOCS / "deployment.md").read_text("utf-8").splitlines() if line.startswith("*/15"))
    command = line.split(maxsplit=5)[5].replace("/home/press/news", str(project.folder)).replace("feeds", "news")
    done = subprocess.run(["/bin/sh", "-c", command], env={"PATH": "/usr/bin:/bin"}, timeout=120)
    assert done.returncode == 0
    assert len(read_lines(project.folder / "items.jsonl")) == 7


def test_a_record_is_replayed_by_time(project: Project) -> None:
    spider = FERRY.replace('"text": words}', '"text": words, "published": f"2023-11-14T{20 - number}:00:00Z"}')
    done = project.crawl(spider, NEARDUP_RECORD="as-crawled.jsonl.gz", NEARDUP_ITEM_FIELDS={"time": "published"})
    assert done.item(neardup_status="original")["url"] == "https://paper0.example/ferry"
    *_, (_, commands) = blocks(GUIDES / "publication-time.md", "sh")
    project.run(*shlex.split(commands.splitlines()[-1])[1:])
    verdicts = read_lines(project.folder / "verdicts.jsonl")
    assert [row["status"] for row in verdicts] == ["original"] + 6 * ["duplicate"]
    assert {row["original_url"] for row in verdicts[1:]} == {"https://paper6.example/ferry"}


def test_one_spider_can_turn_the_plugin_on(project: Project, site: NewsSite) -> None:
    ((_, line),) = [
        (title, text) for title, text in blocks(GUIDES / "existing-project.md", "python") if "custom" in text
    ]
    spider = FERRY.replace('name = "news"\n', f'name = "news"\n    {line}')
    assert spider.count("custom_settings") == 1
    assert project.crawl(spider, ADDONS={}).statuses == {"original": 1, "duplicate": 6}


def test_a_corpus_keeps_each_text_once(project: Project) -> None:
    texts = [article("ferry"), article("market"), article("ferry") + "\n" + article("weather", 20), article("market")]
    rows = [{"id": number, "url": f"https://paper{number}.example/", "text": text} for number, text in enumerate(texts)]
    project.write("corpus.jsonl", "".join(json.dumps(row) + "\n\n" for row in rows))
    ((_, command),) = blocks(GUIDES / "corpus.md", "sh")
    project.run(*shlex.split(command)[1:])
    project.write("clean.py", block("corpus.md", "clean.py"))
    run_python(project.folder, "clean.py").check_returncode()
    kept = [json.loads(line)["id"] for line in (project.folder / "clean.jsonl").read_text("utf-8").splitlines()]
    assert kept == [0, 1]


def test_handlers_hear_of_changed_figures_and_events(project: Project) -> None:
    project.write("news/outbreaks.py", block("public-health.md", "news/outbreaks.py"))
    project.write("news/alarms.py", block("alerts.md", "news/alarms.py"))
    spider = FERRY.replace("range(7)", "range(8)").replace(
        '"text": words}', '"text": words + (" and 12 dead" if number == 7 else " and 4 dead")}'
    )
    extensions = {"news.outbreaks.ChangedFigures": 1, "news.alarms.Alarms": 2}
    done = project.crawl(spider, EXTENSIONS=extensions)
    assert done.lines("WARNING", "Changed figures: ", "4 -> 12", "https://paper7.example/ferry")
    assert done.lines("WARNING", "breaking: ", "(5 sources)")


PAPERS = (
    "harbour-courier evening-post northwire city-herald daily-mirror coast-times morning-star valley-news river-gazette"
)


async def reports() -> list[dict[str, Any]]:
    """Return the reports of all events of a story: a bridge that collapses."""
    async with opened(store="memory://", event_rule="sources", events_min_sources=5) as room:
        for number, paper in enumerate(PAPERS.split()):
            dead, hurt = (3, 12) if number < 6 else (7, 20)
            body = (
                f"The collapse of a bridge over the harbour left {dead} dead on Monday morning. The cause is unknown.\n"
                f"The fire brigade counted {hurt} injured by falling beams.\n{words_of('bridge', 200)}"
            )
            title, at = f"Bridge collapse in the harbour kills {dead}", START + number * 7 * MINUTE
            document = room.detector.document(body, url=f"https://www.{paper}.example/bridge", title=title, seen_at=at)
            await room.detector.check(document)
            room.events += room.detector.take_events()
        await room.detector.finish(all_over=True)
        events = room.events + room.detector.take_events()
        return [special_report(event, zone=ZoneInfo("Europe/Berlin")) for event in events]


async def test_the_messages_of_the_page_are_those_that_are_sent() -> None:
    page = (GUIDES / "alerts.md").read_text(encoding="utf-8").partition("## What the messages say")[2]
    shown = re.findall("^```text\n(.*?)\n```$", page.partition("\n## ")[0], re.MULTILINE | re.DOTALL)
    sent = ["\n".join(message_of(report)).replace("\u200b", "") for report in await reports()]
    assert [message for message in sent if "; " in message.partition("\n")[0]] == shown


def test_a_receiver_checks_the_signature() -> None:
    receiver = load("alerts.md", "receiver.py")
    signature = f"sha256={hmac.new(b'secret', b'{}', 'sha256').hexdigest()}"
    assert receiver.read_event(b"{}", signature, "secret") == {}
    with pytest.raises(ValueError, match="wrong signature"):
        receiver.read_event(b"{}", signature, "another secret")


def test_a_publisher_leaves_every_place(project: Project, tmp_path: Path) -> None:
    record = tmp_path / "recorded.jsonl.gz"
    project.crawl(FERRY, NEARDUP_RECORD=str(record))
    (command,) = [text for _, text in blocks(GUIDES / "purge.md", "sh") if text.startswith("grep")]
    command = command.replace(r"harbour-courier\.", r"paper3\.")
    subprocess.run(["sh", "-c", command], cwd=project.folder, check=True)
    filtered = shlex.split(command.partition(" items")[0])
    bare = b'{"url": "https://Paper3.example?id=4"}\n{"url": "https://paper3.example#top"}\n'
    lines = bare + gzip.decompress(record.read_bytes())
    kept = subprocess.run(filtered, input=lines, capture_output=True, check=True).stdout
    purged = project.run("neardup", "purge", "--source", "paper3.example", "--yes")
    assert "Removed 1 document." in purged.stdout.splitlines()
    with closing(sqlite3.connect(project.folder / ".scrapy/neardup.sqlite")) as window:
        dump = "".join(window.iterdump())
    assert b"paper2".hex().upper() in dump
    assert b"paper3".hex().upper() not in dump
    for text in ((project.folder / "rest.jsonl").read_text("utf-8"), kept.decode()):
        assert "https://paper2.example" in text
        assert '"url": "https://paper3.example' not in text.lower()


def test_extractor_and_rule_of_the_page_work(project: Project) -> None:
    for name in ("extractors", "rules"):
        project.write(f"news/{name}.py", block("extend.md", f"news/{name}.py"))
    spider = """
    class News(Pages):
        def parse(self, response):
            yield {"url": response.url}
    """
    with NewsSite() as site:
        urls = [site.publish(path, page(article("ferry"), "Ferry")) for path in ("/a", "/b")]
        own = {"NEARDUP_EXTRACTOR": "news.extractors.paragraphs", "NEARDUP_EVENT_RULE": "news.rules.two_hundred_copies"}
        assert project.crawl(spider, urls=urls, **own).statuses == {"original": 1, "duplicate": 1}
