"""Titles and urls are written by strangers: commands show them as text."""

import argparse
import asyncio
import json
import os
from pathlib import Path

import pytest
from json_lines import write_lines
from newsdesk import MINUTE, START, opened, text

from scrapy_neardup.text.display import printable
from scrapy_neardup.tools.commands import add_arguments, run_subcommand
from scrapy_neardup.tools.commands.console import as_json, print_table

pytestmark = pytest.mark.versions

HOSTILE = (
    "Feuer [red]rot[/red] [/] [link=file:///etc/passwd]hier[/link] :fire: \x1b[2J\x1b]0;neu\x07 \x9b31m \u202eabc\r x"
)
COMMANDS = [
    (*command, *output)
    for command in (("watch", "--events"), ("watch", "--window"), ("explain", "in.jsonl#1", "in.jsonl#2"))
    for output in ((), ("--json",))
]
COMMANDS.append(("replay", "recorded.jsonl", "-O", "out.jsonl", "--events", "told.jsonl", "--workers", "1"))


async def publish(store: str) -> None:
    async with opened(store=store) as room:
        for n in range(7):
            document = room.detector.document(
                text("fire"), url=f"https://s{n}.example/\x1b[2J[/]", title=HOSTILE, seen_at=START + n * MINUTE
            )
            await room.detector.check(document)


@pytest.fixture(scope="module")
def hostile_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    asyncio.run(publish(f"sqlite:///{folder}/window.sqlite"))
    rows = [
        {"id": n, "url": "https://a.example/", "title": HOSTILE, "text": f"{HOSTILE}\n{text('fire')}"} for n in (1, 2)
    ]
    write_lines(folder / "in.jsonl", rows)
    more = {"title": HOSTILE, "text": text("fire")}
    recorded = [{"id": f"{n}{HOSTILE}", "url": f"https://s{n}.example/", "time": START + n, **more} for n in range(7)]
    lines = [*map(json.dumps, recorded), '{"id": "\x1b[2J \x9b\u202e', json.dumps({"id": HOSTILE, "text": 7})]
    (folder / "recorded.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return folder


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_commands_show_strange_titles_as_text(
    hostile_folder: Path,
    arguments: tuple[str, ...],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(hostile_folder)
    for name, value in {"COLUMNS": "300", "FORCE_COLOR": "1", "TERM": "xterm"}.items():
        monkeypatch.setenv(name, value)
    name, *others = arguments
    parser = argparse.ArgumentParser()
    add_arguments(parser, name)
    options = [*others, "--store", "sqlite:///window.sqlite"] if name == "watch" else others

    status = run_subcommand(name, parser.parse_args(options), {})

    done = capsys.readouterr()
    shown = done.out + done.err
    if name == "replay":
        written = [Path(each).read_text("utf-8") for each in ("out.jsonl", "told.jsonl")]
        assert HOSTILE in json.loads(written[0].splitlines()[0])["id"]
        assert json.loads(written[1].splitlines()[0])["headline"].startswith("Feuer [red]rot")
        shown += "".join(written)
    assert status == (name == "replay"), "which has wrong lines"
    for forbidden in ("\x1b[2J", "\x1b]", "\x07", "\x9b", "\u202e"):
        assert forbidden not in shown
    if {"--json", "--events"} <= {*arguments}:
        assert (
            "[red]rot[/red] [/] [link=file:///etc/passwd]hier[/link] :fire: \ufffd[2J"
            in json.loads(done.out)["headline"]
        )
    elif "--events" in arguments:
        assert ":fire:" in shown
        assert "rot[/red]" in shown.replace("\x1b[0m", "").replace("\n", "")


@pytest.mark.parametrize(("columns", "most"), [("80", 80), ("", 100)])
def test_a_table_breaks_titles_and_no_names(
    columns: str, most: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "isatty", lambda descriptor: False)
    monkeypatch.setenv("COLUMNS", columns) if columns else monkeypatch.delenv("COLUMNS", raising=False)
    source, title = "eastmarch-standard.example", "Explosion at the port " * 5
    print_table("", ("time (UTC)", "source", "joined by", "title"), [("03-17 14:46", source, "copy", title)] * 3)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) == most
    assert sum(source in line for line in lines) == 3


def test_only_what_a_terminal_obeys_is_replaced() -> None:
    assert printable("Über 5 €: ملك\tx\ny 火 👍🏽") == "Über 5 €: ملك\tx\ny 火 👍🏽"
    assert printable("\x1b[0m\x9b\u2066\ud800") == "\ufffd[0m" + 3 * "\ufffd"
    assert json.loads(as_json({"a": "\x1b\x9b\u202e\ud800ü"})) == {"a": "\x1b\x9b\u202e\ud800ü"}
    assert as_json("\x9bü") == '"\\u009bü"'
