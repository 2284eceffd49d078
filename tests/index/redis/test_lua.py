"""The Lua scripts: they are short, know no rule, and each server is given one text of each."""

from __future__ import annotations

import re
import uuid
from pathlib import Path

import pytest
from documents import Article, check
from redis import Redis

from scrapy_neardup.index import Policy
from scrapy_neardup.index.redis import lua
from scrapy_neardup.index.redis.index import RedisIndex

SCRIPTS = {
    path.stem: path.read_text(encoding="utf-8") for path in Path(lua.__file__).with_name("scripts").glob("*.lua")
}


def code_of(name: str) -> str:
    return re.sub(r"--\[\[.*?\]\]|--[^\n]*|'[^'\n]*'", "", SCRIPTS[name], flags=re.DOTALL)


@pytest.mark.parametrize("name", sorted(SCRIPTS))
def test_a_script_has_every_constant_that_it_names(name: str) -> None:
    """Lua takes a name that nobody has defined for nil."""
    local = re.findall(r"^local (?:function )?([^=(\n]+)", code_of(name), re.MULTILINE)
    defined = {each.strip() for names in local for each in names.split(",")}

    assert set(re.findall(r"\b[A-Z][A-Z_]+\b", code_of(name))) <= defined | {"KEYS", "ARGV"}


@pytest.mark.parametrize("name", sorted(SCRIPTS))
def test_a_script_knows_no_threshold(name: str) -> None:
    numbers = {float(each) for each in re.findall(r"(?<![\w.])\d+(?:\.\d+)?", code_of(name))}

    assert all(each.is_integer() and each <= 24 for each in numbers)  # places in a list, and bits of a shard


def test_the_scripts_are_short() -> None:
    assert sum(len(text.splitlines()) for text in SCRIPTS.values()) <= 250


async def test_all_namespaces_and_configurations_share_the_scripts(redis_url: str) -> None:
    def cached() -> int:
        return int(Redis.from_url(redis_url).info("memory")["number_of_cached_scripts"])

    counts = []
    for threshold in (0.4, 0.5, 0.6):
        policy, namespace = Policy(threshold=threshold), f"texts-{uuid.uuid4().hex}"
        index = RedisIndex(redis_url, namespace, f"0000000{int(10 * threshold)}", policy, timeout=30)
        await index.open()
        await check(index, Article())
        await index.close()
        counts.append(cached())
    assert counts[0] == counts[1] == counts[2]
