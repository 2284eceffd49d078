"""``scrapy neardup doctor``: each line is ok or says how to mend it, and nothing is left behind."""

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from fleet import documented_rights, open_client
from projects import ITEM_A_PAGE, Project
from receivers import Receiver
from redis import Redis
from scrapy_processes import neardup
from servers import RedisServer

from scrapy_neardup.stories.summary import message_of
from scrapy_neardup.tools.commands import add_arguments, run_subcommand

ADDON_LINE = 'ADDONS = {"scrapy_neardup.Addon": 500}'
REACTOR = "twisted.internet.selectreactor.SelectReactor"
SCHEMA = json.loads((Path(__file__).parents[3] / "docs/event.schema.json").read_text(encoding="utf-8"))


def findings(folder: Path, *arguments: str) -> tuple[int, dict[str, dict[str, Any]]]:
    done = neardup(folder, "doctor", "--json", *arguments)
    return done.returncode, {each["check"]: each for each in map(json.loads, done.stdout.splitlines())}


def test_a_healthy_project_is_ok(project: Project) -> None:
    project.prepare(ITEM_A_PAGE, {})
    before = sorted(project.folder.rglob("*"))
    done = project.run("neardup", "doctor")
    assert done.returncode == 0, done.stdout
    assert "FAILED" not in done.stdout
    assert "WARNING" not in done.stdout
    assert {each for each in project.folder.rglob("*") if "__pycache__" not in each.parts} <= set(before)


@pytest.mark.parametrize(
    ("given", "state", "found", "mend"),
    [
        ('ADDONS={"scrapy_neardup.Adon": 500}', "failed", "'scrapy_neardup.Adon', which cannot be loaded", ADDON_LINE),
        (
            'ADDONS={"scrapy_neardup.Addon": null}',
            "failed",
            "'scrapy_neardup.Addon': None}: the plugin is off",
            ADDON_LINE,
        ),
        ("NEARDUP_ENABLED=False", "warning", "NEARDUP_ENABLED = False: no item is judged", "remove NEARDUP_ENABLED"),
        (f"TWISTED_REACTOR={REACTOR}", "failed", "no item is judged", "remove TWISTED_REACTOR"),
        ('ADDONS={"scrapy.Item": 1}', "failed", "{'scrapy.Item': 1}: the plugin is off", f"write {ADDON_LINE} into"),
        ("NEARDUP_WINDOW=86400", "ok", "turn the plugin on, with CONCURRENT_ITEMS = 8", ""),
    ],
)
def test_the_add_on_has_a_line(project: Project, given: str, state: str, found: str, mend: str) -> None:
    project.prepare(ITEM_A_PAGE, {})
    status, lines = findings(project.folder, "-s", given)
    assert (lines["add-on"]["state"], status) == (state, 1 if state == "failed" else 0)
    assert found in lines["add-on"]["found"]
    assert mend in lines["add-on"]["mend"]


def test_a_plugin_that_is_wired_by_hand(project: Project) -> None:
    pipelines = {"scrapy_neardup.CapturePipeline": 1, "scrapy_neardup.NearDupPipeline": 300}
    middlewares = {"scrapy_neardup.NearDupSpiderMiddleware": 10}
    project.prepare(ITEM_A_PAGE, {"ADDONS": {}, "ITEM_PIPELINES": pipelines, "SPIDER_MIDDLEWARES": middlewares})
    assert findings(project.folder)[1]["add-on"]["state"] == "ok"
    off = ("-s", 'ADDONS={"scrapy.Item": 1}', "-s", 'ITEM_PIPELINES={"scrapy_neardup.NearDupPipeline": null}')
    assert findings(project.folder, *off)[1]["add-on"]["state"] == "failed"


def test_every_store_is_tried_and_nothing_is_left_in_it(shared_url: str, namespace: str, tmp_path: Path) -> None:
    status, found = findings(tmp_path, "--store", shared_url, "--namespace", namespace)
    assert status == 0, found
    assert found["store"]["state"] == "ok"
    if shared_url.startswith("redis"):
        assert found["rights"]["state"] == "ok"
        assert list(open_client(shared_url).scan_iter(f"{{neardup:{namespace}*")) == []


def test_the_webhook_gets_a_test_event(receiver: Receiver, tmp_path: Path) -> None:
    hook = "-s", f"NEARDUP_EVENTS_WEBHOOK={receiver.url}"
    status, found = findings(tmp_path, *hook)
    assert status == 0
    assert found["webhook"]["state"] == "ok"
    ((_, body),) = receiver.requests
    report = json.loads(body)
    jsonschema.validate(report, SCHEMA)
    assert report["test"] is True
    title = "TEST, not a real event: sent by scrapy neardup doctor, please ignore"
    assert report["headline"] == title
    assert message_of(report).title == "Test: no event, only a message"
    assert report["id"] in found["webhook"]["found"]
    assert "webhook" not in findings(tmp_path, "--no-events", *hook)[1]
    assert len(receiver.requests) == 1


def test_a_receiver_that_refuses(tmp_path: Path) -> None:
    with Receiver(404) as receiver:
        status, found = findings(tmp_path, "--store", "memory://", "-s", f"NEARDUP_EVENTS_WEBHOOK={receiver.url}")
    assert status == 1
    assert found["webhook"]["state"] == "failed"
    assert "answers 404" in found["webhook"]["found"]
    assert "/events" not in json.dumps(found), "the path may be a secret"
    assert found["store"]["state"] == "warning", "a window in memory"


# Only the client calls ``ping``, and old servers know no rights for parts of a command.
TRIED = sorted({right[1:] for right in documented_rights() if right[0] == "+"} - {"ping", "memory|usage"})


@pytest.mark.usefixtures("fast_workers")
def test_a_user_who_lacks_a_right(redis_server: RedisServer, capsys: pytest.CaptureFixture[str]) -> None:
    parser = ArgumentParser()
    add_arguments(parser, "doctor")
    url = f"redis://neardup:sEcReT@127.0.0.1:{redis_server.port}/0"
    for missing in TRIED:
        redis_server.execute("ACL SETUSER", "neardup", "on", ">sEcReT", *documented_rights(), f"-{missing}")
        status = run_subcommand("doctor", parser.parse_args(["--json", "--store", url]), {})
        output = capsys.readouterr().out
        found = {each["check"]: each["state"] for each in map(json.loads, output.splitlines())}
        state = found.get("eviction" if missing == "info" else "rights", found["store"])
        assert (status, state) == ((0, "warning") if missing in ("scan", "info") else (1, "failed")), missing
        assert "sEcReT" not in output


def test_a_server_that_evicts(redis_server: RedisServer, tmp_path: Path) -> None:
    with redis_server.client() as client:
        client.config_set("maxmemory", "100mb")
        client.config_set("maxmemory-policy", "allkeys-lru")
    status, found = findings(tmp_path, "--store", redis_server.url)
    assert (status, found["eviction"]["state"]) == (0, "warning")
    assert "Use noeviction" in found["eviction"]["mend"]


@pytest.mark.slow
def test_a_server_that_hangs(redis_server: RedisServer, tmp_path: Path) -> None:
    with Redis.from_url(redis_server.url) as client:
        client.execute_command("CLIENT", "PAUSE", 20_000, "ALL")
        status, found = findings(tmp_path, "--store", redis_server.url)
    assert (status, found["store"]["state"]) == (1, "failed")


@pytest.mark.parametrize(
    "setting",
    ["NEARDUP_WINDOW=5", "NEARDUP_EVENTS_FEED=foo://x", "NEARDUP_STORE=memory:///window", "NEARDUP_EMBEDDER=desk.nope"],
)
def test_a_wrong_setting(project: Project, setting: str) -> None:
    project.prepare(ITEM_A_PAGE, {})
    status, found = findings(project.folder, "-s", setting)
    assert status == 1
    assert found["settings"]["state"] == "failed"
    assert setting.partition("=")[0] in found["settings"]["found"]
    assert list(found) == ["settings", "add-on", "all others"]
    assert found["all others"]["found"].endswith("were not checked")


def test_an_extractor_that_fails_and_one_that_finds_nothing(project: Project) -> None:
    project.prepare(ITEM_A_PAGE, {})
    project.write(
        "news/own.py", "def fail(html, url):\n    raise ValueError('no')\n\ndef nothing(html, url):\n    return ''\n"
    )
    for name, state, status in (("fail", "failed", 1), ("nothing", "warning", 0)):
        done, found = findings(project.folder, "-s", f"NEARDUP_EXTRACTOR=news.own.{name}")
        assert (done, found["extractor"]["state"]) == (status, state)


def test_a_command_without_its_server_names_the_setting(tmp_path: Path) -> None:
    done = neardup(tmp_path, "watch", "--window", "--store", "redis://127.0.0.1:1/0")
    assert done.returncode == 2
    assert "redis://127.0.0.1:1" in done.stderr
    assert "scrapy neardup doctor checks NEARDUP_STORE" in done.stderr
