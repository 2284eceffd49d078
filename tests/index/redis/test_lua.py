"""What the Lua scripts take from Python: records as Python packs them, and one script text for each configuration."""

from __future__ import annotations

import random
import re
import uuid
from pathlib import Path

import numpy as np
import pytest
from documents import Article, check
from redis import Redis

from scrapy_neardup.index import Policy
from scrapy_neardup.index.redis import lua
from scrapy_neardup.index.redis.index import RedisIndex

ARTICLE = Article(
    url="https://a.example/1", source="a.example", title="Ferry", figures="4 12", topic="ABcd", headline="xy"
)


SCRIPTS = [path.stem for path in Path(lua.__file__).with_name("scripts").glob("*.lua")]


@pytest.mark.parametrize("name", sorted(set(SCRIPTS) - {"story"}))
def test_a_script_has_every_constant_that_it_names(name: str) -> None:
    """Lua takes a name that nobody has defined for nil, and has room for 200 local names."""
    source = lua.Script(name, Policy()).source
    code = re.sub(r"--\[\[.*?\]\]|--[^\n]*|'[^'\n]*'", "", source, flags=re.DOTALL)
    local = re.findall(r"^local (?:function )?([^=(\n]+)", code, re.MULTILINE)
    defined = {each.strip() for names in local for each in names.split(",")}

    assert set(re.findall(r"\b[A-Z][A-Z_]+\b", code)) <= defined | {"KEYS", "ARGV"}
    assert len(defined) < 180


async def test_a_policy_may_have_numbers_of_numpy(redis_url: str) -> None:
    policy = Policy(threshold=np.float64(0.5), drop_share=np.float64(0.7), drops=np.True_)  # type: ignore[arg-type]
    index = RedisIndex(redis_url, f"numbers-{uuid.uuid4().hex}", "00000001", policy, timeout=30)
    await index.open()
    assert await check(index, ARTICLE) is None
    await index.close()


async def test_namespaces_of_one_configuration_share_a_script(redis_url: str) -> None:
    def cached() -> int:
        return int(Redis.from_url(redis_url).info("memory")["number_of_cached_scripts"])

    policy = Policy(threshold=0.4321 + random.random() / 100)
    counts = []
    for _ in range(3):
        index = RedisIndex(redis_url, f"texts-{uuid.uuid4().hex}", "00000001", policy, timeout=30)
        await index.open()
        await check(index, ARTICLE)
        await index.close()
        counts.append(cached())
    assert counts[0] == counts[1] == counts[2]
