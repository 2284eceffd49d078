"""The reference has every stat, every signal and every option of a command; the navigation has every page."""

from __future__ import annotations

import os
import re
from argparse import ArgumentParser
from importlib import import_module
from pathlib import Path

import pytest

from scrapy_neardup import signals
from scrapy_neardup.commands import SUBCOMMANDS

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SETTINGS = (DOCS / "settings.md").read_text(encoding="utf-8")
COMMANDS = (DOCS / "commands.md").read_text(encoding="utf-8")
STAT = re.compile(r'\bcount\(f?"([a-z_{][a-z_/{}.]+)"\)|"neardup/([a-z_/]+)"|yield f?"((?:run|hints)/[a-z_{}.]+)"')
# The page gives one name to the stats whose last part is a verdict, a level or a hint.
ONE_NAME = {
    "{verdict.status}/{detail}": "<status>",
    "events/{event.level}": "events/<level>",
    "hints/{hint.name}": "hints/<name>",
}


def stats() -> set[str]:
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "scrapy_neardup").rglob("*.py")]
    found = {next(filter(None, each)) for text in texts for each in STAT.findall(text)}
    return {ONE_NAME.get(name, name) for name in found}


def options(subcommand: str) -> list[list[str]]:
    """Return the spellings of each option."""
    parser = ArgumentParser(add_help=False)
    import_module(f"scrapy_neardup.commands.{subcommand.replace('-', '_')}").add_arguments(parser)
    return [list(action.option_strings) for action in parser._actions if action.option_strings]


def test_every_stat_has_a_row() -> None:
    found = stats()
    assert {"checked", "dropped", "store/errors", "run/kept", "hints/<name>"} <= found
    assert [name for name in found if f"`neardup/{name}`" not in SETTINGS] == []


@pytest.mark.parametrize("step", ["extract", "sketch", "check"])
def test_every_timing_has_a_row(step: str) -> None:
    assert f"`neardup/{step}/ms_" in SETTINGS


@pytest.mark.parametrize("name", [name for name, value in vars(signals).items() if type(value) is object])
def test_every_signal_has_a_row(name: str) -> None:
    assert f"\n| `{name}` |" in SETTINGS


@pytest.mark.parametrize("subcommand", SUBCOMMANDS)
def test_every_option_is_in_the_section_of_its_command(subcommand: str) -> None:
    section = COMMANDS.partition(f"\n## {subcommand}\n")[2].partition("\n## ")[0]
    assert [each for each in options(subcommand) if not any(spelling in section for spelling in each)] == []


def test_every_guide_is_in_the_list_of_guides() -> None:
    listed = (DOCS / "howto/index.md").read_text(encoding="utf-8")
    assert [path.name for path in (DOCS / "howto").glob("*.md") if f"({path.name})" not in listed] == ["index.md"]


def test_the_menu_has_25_pages_and_leaves_out_only_pages_that_another_page_links_to() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    listed = set(re.findall(r"^ +- (?:.+: )?([\w/-]+\.md)$", navigation, re.MULTILINE))
    pages = {str(path.relative_to(DOCS)): path.read_text(encoding="utf-8") for path in DOCS.rglob("*.md")}
    assert listed <= pages.keys()
    assert len(listed) <= 25
    linked = {
        os.path.normpath(f"{Path(page).parent}/{target}")
        for page, text in pages.items()
        for target in re.findall(r"\]\(([\w./-]+\.md)", text)
    }
    assert pages.keys() - listed - linked == set()
