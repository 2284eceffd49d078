"""Other packages work with the plugin: each script of the example's integrations checks its own crawl."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from servers import RedisServer, redis_binary

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "example_project"
INTEGRATIONS = EXAMPLE / "integrations"
GUIDES = ROOT / "docs/howto"
BLOCK = re.compile(r'^```python(?: title="([^"]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)
SHARED = {"offline", "monitors"}  # parts of scripts


def run(name: str, *arguments: str) -> str:
    """Run a script to its end. Return its output."""
    command = [sys.executable, "-m", f"integrations.{name}", *arguments]
    paths = [str(Path(sys.executable).parent), os.environ["PATH"], str(Path(redis_binary()).parent)]
    environment = {**os.environ, "PATH": os.pathsep.join(paths), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, cwd=EXAMPLE, env=environment, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("name", ["impersonated_requests", "page_objects", "parquet_feed", "without_scrapy"])
def test_every_verdict_is_the_one_of_the_truth_file(name: str) -> None:
    output = run(name)
    assert "89 items: 42 duplicate, 41 original, 3 unchecked, 3 update" in output
    assert "0 verdicts differ" in output


def test_rendered_pages_are_judged_and_plain_ones_are_not() -> None:
    from browser import require_chromium
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        require_chromium(driver)
    output = run("rendered_pages")
    assert "Without JavaScript: 12 unchecked" in output
    assert "Rendered: 12 items: 5 duplicate, 7 original\n0 verdicts differ" in output


def test_workers_share_a_queue_and_a_window(redis_server: RedisServer) -> None:
    output = run("shared_queue", redis_server.url)
    assert "0 texts have two originals" in output
    assert redis_server.client().dbsize() == 0


def test_monitors_report_a_store_that_is_away() -> None:
    output = run("monitored_crawl")
    assert "0 verdicts differ" in output
    assert output.count("store-away: Verdicts/") == 3


def test_the_commands_of_the_containers_work_together() -> None:
    assert "0 texts have two originals" in run("containers", "--here")


def test_every_script_is_in_the_readme() -> None:
    readme = (INTEGRATIONS / "README.md").read_text("utf-8")
    names = {path.stem for path in INTEGRATIONS.glob("*.py")} - SHARED
    assert set(re.findall(r"^\| [\w, -]+ \| `(\w+)", readme, re.MULTILINE)) == names
    requirements = (INTEGRATIONS / "requirements.txt").read_text("utf-8")
    assert {"scrapy-" + name for name in ("playwright", "impersonate", "poet", "redis")} <= set(
        re.findall(r"^[\w-]+", requirements, re.MULTILINE)
    )


@pytest.fixture
def scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLE))


def settings_of(guide: str) -> dict[str, Any]:
    """Return the settings that the ``settings.py`` of a guide has."""
    values: dict[str, Any] = {}
    for title, text in BLOCK.findall((GUIDES / guide).read_text("utf-8")):
        if title == "settings.py":
            exec(text.replace('"news.', '"integrations.'), values)  # the package of the reader's project
    return {name: value for name, value in values.items() if name.isupper()}


@pytest.mark.usefixtures("scripts")
@pytest.mark.parametrize(
    ("guide", "script", "name"),
    [
        ("javascript.md", "rendered_pages", "PLAYWRIGHT"),
        ("scrapy-poet.md", "page_objects", "POET"),
        ("scrapy-redis.md", "shared_queue", "SHARED"),
        ("monitoring.md", "monitored_crawl", "SPIDERMON"),
    ],
)
def test_the_settings_of_a_guide_are_those_that_were_tried(guide: str, script: str, name: str) -> None:
    module = import_module(f"integrations.{script}")
    tried = {**vars(module), **getattr(module, name)}
    settings = settings_of(guide)
    assert settings
    assert {name: tried[name] for name in settings} == settings


@pytest.mark.parametrize("guide", sorted(path.name for path in GUIDES.glob("*.md")))
def test_code_that_a_guide_takes_from_a_script_is_in_the_script(guide: str) -> None:
    for title, text in BLOCK.findall((GUIDES / guide).read_text("utf-8")):
        if title.startswith("integrations/"):
            assert text in (EXAMPLE / title).read_text("utf-8")
