"""Other packages work with the plugin: each script of the example's integrations checks its own crawl."""

import os
import sys
from pathlib import Path

import pytest
from scrapy_processes import folder_of_scrapy, run_python
from servers import RedisServer, redis_binary

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "example_project"


def run(name: str, *arguments: str) -> str:
    """Run a script to its end. Return its output."""
    paths = [folder_of_scrapy(), str(Path(sys.executable).parent), os.environ["PATH"], str(Path(redis_binary()).parent)]
    path = {"PATH": os.pathsep.join(paths)}
    done = run_python(EXAMPLE, "-m", f"integrations.{name}", *arguments, environment=path, timeout=200)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("name", ["impersonated_requests", "page_objects", "without_scrapy"])
def test_every_verdict_is_the_one_of_the_truth_file(name: str) -> None:
    output = run(name)
    assert "89 items: 42 duplicate, 41 original, 3 unchecked, 3 update" in output
    assert "0 verdicts differ" in output


def test_rendered_pages_are_judged_and_plain_ones_are_not() -> None:
    from browser import find_chromium

    find_chromium()
    output = run("rendered_pages")
    assert "Without JavaScript: 6 unchecked" in output
    assert "Rendered: 6 items: 2 duplicate, 4 original\n0 verdicts differ" in output


def test_workers_share_a_queue_and_a_window(redis_server: RedisServer) -> None:
    output = run("shared_queue", redis_server.url)
    assert "0 texts have two originals" in output
    assert redis_server.client().dbsize() == 0


def test_monitors_report_a_store_that_is_away() -> None:
    output = run("monitored_crawl")
    assert "0 verdicts differ" in output
    assert output.count("store-away: Verdicts/") == 2


def test_the_commands_of_the_containers_work_together() -> None:
    assert "0 texts have two originals" in run("containers", "--here")
