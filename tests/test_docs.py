"""The reference pages say what the code does."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from typing import get_args

import api_page
import pytest

import scrapy_neardup
from scrapy_neardup import NearDupSettings
from scrapy_neardup.commands import SUBCOMMANDS
from scrapy_neardup.document import KINDS, STATUSES, Reason
from scrapy_neardup.settings import TAGS

ROOT = Path(__file__).parents[1]
SETTINGS = (ROOT / "docs/settings.md").read_text(encoding="utf-8")
ENTRIES = dict(re.findall(r"^### (NEARDUP_\w+)\n\n(.*?)(?=^##|\Z)", SETTINGS, re.MULTILINE | re.DOTALL))
DEFAULTS = NearDupSettings()


def test_every_setting_has_an_entry_and_every_entry_is_a_setting() -> None:
    assert set(ENTRIES) == {f"NEARDUP_{each.name.upper()}" for each in fields(NearDupSettings)}


@pytest.mark.parametrize("name", sorted(ENTRIES.keys() - {"NEARDUP_FIELDS"}))
def test_every_entry_gives_the_default(name: str) -> None:
    default = getattr(DEFAULTS, name.removeprefix("NEARDUP_").lower())
    assert ENTRIES[name].startswith(f"Default: `{default!r}`")


@pytest.mark.parametrize("word", [*TAGS, *STATUSES, *KINDS, *get_args(Reason)])
def test_every_tag_and_value_is_explained(word: str) -> None:
    assert f"`{word}`" in SETTINGS


def test_every_hint_is_explained() -> None:
    source = (ROOT / "scrapy_neardup/crawl/hints.py").read_text(encoding="utf-8")
    names = set(re.findall(r'^ +(?:yield Hint\()?"([a-z-]+)"(?:,|: ")', source, re.MULTILINE))
    explained = re.search(r"\| `<name>` \| when \|\n(.*?)\n\n", SETTINGS, re.DOTALL)
    assert explained
    assert names == set(re.findall(r"^\| `([\w-]+)`", explained[1], re.MULTILINE))


@pytest.mark.parametrize("name", SUBCOMMANDS)
def test_every_command_has_its_section(name: str) -> None:
    assert f"\n## {name}\n" in (ROOT / "docs/commands.md").read_text(encoding="utf-8")


def test_the_page_of_the_public_api_says_what_the_code_says() -> None:
    assert sorted(" ".join(api_page.GROUPS.values()).split()) == sorted(scrapy_neardup.__all__)
    assert (ROOT / "docs/api.md").read_text(encoding="utf-8") == api_page.page(), api_page.__doc__
