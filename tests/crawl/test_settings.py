"""Every ``NEARDUP_*`` setting is checked at the start: its name, its value and what is allowed are said."""

import json
import re
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from news_site import NewsSite, article, page
from projects import FERRY, ITEM_A_PAGE, Crawl, Project
from scrapy import __version__ as scrapy_version
from scrapy.exceptions import UsageError
from scrapy.settings import Settings
from scrapy_processes import neardup
from servers import RedisServer

from scrapy_neardup import Addon, NearDupSettings, SettingsError
from scrapy_neardup.settings.presets import option_name

FIELDS = {f"NEARDUP_{each.name.upper()}": each.name for each in fields(NearDupSettings)}

WRONG: dict[str, list[object]] = {
    "NEARDUP_ENABLED": ["maybe", 2, None],
    "NEARDUP_ACTION": ["delete", "", None, ["drop"]],
    "NEARDUP_STORE": ["neardup.sqlite", "mysql://localhost/x", None, "sqlite://window.sqlite", "sqlite:///"],
    "NEARDUP_NAMESPACE": ["", "a b", "{x}", "n" * 65, None],
    "NEARDUP_WINDOW": [0, 3600, -1, "a day", 1e9, True, None, float("nan")],
    "NEARDUP_PRESET": ["best", None],
    "NEARDUP_PRESET_OPTIONS": [None, 5, "threshold", "{", [0.5], {5: 1}],
    "NEARDUP_KEEP_UPDATES": ["often"],
    "NEARDUP_MIN_WORDS": [0, 10_001, None],
    "NEARDUP_ITEM_FIELDS": [5, "body", ["text"], {"text": 5}, {"body": "text"}],
    "NEARDUP_ITEM_CLASSES": [5, [5], "no.such.Item", ["news.Item"], ["scrapy_neardup.signals.document_checked"]],
    "NEARDUP_EXTRACTOR": ["", "goose", ".a.b", "no.such.extractor", "scrapy_neardup.nothing", "os.sep", "a b"],
    "NEARDUP_EXTRACT_WORKERS": [0, 257, 1.5, "all", True, None],
    "NEARDUP_EXTRACT_TIMEOUT": [0, -1, "soon", None],
    "NEARDUP_STORE_TIMEOUT": [0, "soon", None],
    "NEARDUP_EVENT_RULE": ["no-such-rule", "no.such.rule", "", None],
    "NEARDUP_EVENTS_NOTIFY": ["slack", ["slack"], [5], 5, {"slack": "x"}, "["],
    "NEARDUP_EVENTS_WEBHOOK": ["ftp://x", 7],
    "NEARDUP_EVENTS_FEED": [7],
    "NEARDUP_DROPPED_FEED": [7],
    "NEARDUP_SOURCE_OWNERS": [
        "Press",
        7,
        {"a": 1},
        {"a": [1]},
        {"A": ["a.example"], "B": ["a.example"]},
        {"": ["a.example"]},
        {"A": ["bücher.example"], "B": ["xn--bcher-kva.example"]},
        {"A": ["co.uk"]},
    ],
    "NEARDUP_EVENTS_ATOM": [5],
    "NEARDUP_EVENTS_LEVELS": ["loud", ["breaking", "loud"], 5, None],
    "NEARDUP_EVENTS_SECTIONS": ["sports", ["sport", "sports"], 5, None],
    "NEARDUP_EVENTS_PER_DAY": [-1, "few", None],
}
"""Values a setting does not take, by its name."""

WRONG_OPTIONS: dict[str, list[object]] = {
    "threshold": [0, 1.1, "50 %", float("inf")],
    "related_threshold": [0, 1.1, 0.6],
    "measure": ["jaccard"],
    "min_block_words": [-1, 1001],
}
"""Values a parameter of the preset does not take, by its name."""

PAIRS = [pytest.param(name, value, id=f"{name}={value!r}") for name, values in WRONG.items() for value in values]


class Nonsense:
    """A value that is right for no setting."""

    def __repr__(self) -> str:
        return "<nonsense>"


def says(name: str, value: object) -> str:
    """Pattern of one line: name, value, and what is allowed."""
    return rf"^{name} = {re.escape(repr(value))}: [^\n]{{5,}}$"


HOLD_SECRETS = {f"NEARDUP_{each.name.upper()}" for each in fields(NearDupSettings) if each.metadata["shown"]}
"""Their values are shown in part, or not at all."""


@pytest.mark.parametrize("name", FIELDS)
def test_no_setting_takes_just_anything(name: str) -> None:
    with pytest.raises(SettingsError, match=says(name, "***" if name in HOLD_SECRETS else Nonsense())):
        NearDupSettings.from_mapping({name: Nonsense()})


@pytest.mark.parametrize(("name", "value"), PAIRS)
def test_a_wrong_value_stops_the_start_with_one_line(name: str, value: object) -> None:
    for start in (Addon.update_pre_crawler_settings, Addon().update_settings):
        with pytest.raises(UsageError) as raised:
            start(Settings({name: value}))
        assert str(raised.value).startswith(f"{name} = ")
        assert "\n" not in str(raised.value)


@pytest.mark.parametrize(("name", "value"), [(name, each) for name, values in WRONG_OPTIONS.items() for each in values])
def test_a_wrong_option_of_the_preset_is_named(name: str, value: object) -> None:
    with pytest.raises(SettingsError, match=says(option_name(name), value).replace('["', r'\["').replace('"]', r'"\]')):
        NearDupSettings.from_mapping({"NEARDUP_PRESET_OPTIONS": {name: value}})


def test_its_own_default_is_a_value_every_setting_takes() -> None:
    defaults = {name: getattr(NearDupSettings(), field) for name, field in FIELDS.items()}
    assert NearDupSettings.from_mapping(defaults) == NearDupSettings()


def test_a_misspelt_name_is_told_the_right_one() -> None:
    for name in FIELDS:
        wrong = name + name[-1]
        with pytest.raises(SettingsError, match=f"^{wrong} = '[*]{{3}}': no such setting; is it {name}\\?$"):
            NearDupSettings.from_mapping({wrong: "x"})
    with pytest.raises(
        SettingsError, match=r"'treshold' is no parameter; must be among threshold, related_threshold, "
    ):
        NearDupSettings.from_mapping({"NEARDUP_PRESET_OPTIONS": {"treshold": 0.5}})


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("NEARDUP_ENABLED", "False", False),
        ("NEARDUP_KEEP_UPDATES", "0", False),
        ("NEARDUP_WINDOW", "7200", 7200),
        ("NEARDUP_DROP_SHARE", "0.75", 0.75),
        (
            "NEARDUP_PRESET_OPTIONS",
            '{"threshold": "0.75", "min_block_words": "4"}',
            {"threshold": 0.75, "min_block_words": 4},
        ),
        ("NEARDUP_ITEM_CLASSES", "a.B, c.D", ("a.B", "c.D")),
    ],
)
def test_the_command_line_gives_text(name: str, text: str, value: object) -> None:
    assert getattr(NearDupSettings.from_mapping({name: text}), FIELDS[name]) == value


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., Crawl]:
    """Crawls one page with these settings."""

    def crawl(spider: str = ITEM_A_PAGE, **settings: Any) -> Crawl:
        with NewsSite() as site:
            crawl = Project(tmp_path).crawl(spider, urls=[site.publish("/", page(article("wire")))], **settings)
            assert site.requested == []
            return crawl

    return crawl


@pytest.mark.versions
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"NEARDUP_ACTION": "delete"}, "NEARDUP_ACTION = 'delete': must be one of 'tag', 'drop'"),
        (
            {"NEARDUP_EXTRACTOR": "news.nowhere.extract"},
            "NEARDUP_EXTRACTOR = 'news.nowhere.extract': module 'news' has",
        ),
        (
            {"NEARDUP_EXTRACTOR": "__main__.extract"},
            "worker processes cannot import the script that is run: put it into a module",
        ),
    ],
)
def test_a_crawl_with_a_wrong_setting_does_not_start(
    run: Callable[..., Crawl], settings: dict[str, Any], message: str
) -> None:
    crawl = run(**settings)
    assert crawl.status == 1
    assert message in crawl.log.splitlines()[-1]


LATE_STATUS = 0 if scrapy_version.startswith("2.14.") else 1
"""How a crawl exits that fails after its spider is made: Scrapy 2.14 does not count that as a failure."""


@pytest.mark.versions
def test_a_wrong_setting_of_a_spider_stops_it(run: Callable[..., Crawl]) -> None:
    crawl = run(ITEM_A_PAGE + '    custom_settings = {"NEARDUP_ACTION": "delete"}\n')
    assert crawl.status == LATE_STATUS
    error = "NEARDUP_ACTION = 'delete': must be one of 'tag', 'drop', 'dry-run' (in the custom_settings of the spider)"
    assert f"UsageError: {error}" in crawl.log


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("NEARDUP_EVENTS_WEBHOOK", "htps://anna:sEcReT@hooks.example/sEcReT?token=sEcReT"),
        ("NEARDUP_EVENTS_WEBHOOK", b"https://hooks.example/sEcReT"),
        ("NEARDUP_EVENTS_WEBHOOK_SECRET", "two\nlines: sEcReT"),
        ("NEARDUP_EVENT_WEBHOOK_SECRET", "sEcReT"),
        ("NEARDUP_STORE", "redis://:sEcReT@host/x"),
        ("NEARDUP_STORE", ["redis://:sEcReT@host/0"]),
        ("NEARDUP_EVENTS_NOTIFY", "sEcReT"),
    ],
)
def test_an_error_shows_no_secret(name: str, value: object) -> None:
    with pytest.raises(SettingsError, match=f"^{name} = ") as raised:
        NearDupSettings.from_mapping({name: value})
    assert "sEcReT" not in f"{raised.value} {raised.value!r} {vars(raised.value)}"


def test_settings_show_no_secret() -> None:
    settings = NearDupSettings(
        store="redis://:sEcReT@host/0",
        dropped_feed="ftp://anna:sEcReT@host/dropped.jsonl",
        events_feed="ftp://anna:sEcReT@host/events.jsonl",
        events_webhook="https://hooks.example/sEcReT",
        events_webhook_secret="sEcReT",
    )
    assert "sEcReT" not in f"{settings} {settings!r}"


SECRET = "sEcReT"


@pytest.mark.parametrize("password", [SECRET, f"another-{SECRET}"], ids=["right", "wrong"])
def test_a_crawl_that_logs_everything_logs_no_secret(tmp_path: Path, project: Project, password: str) -> None:
    server = RedisServer(tmp_path / "redis", password=SECRET).start()
    try:
        store = f"redis://:{password}@127.0.0.1:{server.port}/0"
        crawl = project.crawl(
            FERRY,
            LOG_LEVEL="DEBUG",
            NEARDUP_STORE=store,
            NEARDUP_EVENTS_WEBHOOK=f"http://anna:{SECRET}@127.0.0.1:9/{SECRET}?token={SECRET}",
            NEARDUP_EVENTS_WEBHOOK_SECRET=SECRET,
            NEARDUP_EVENTS_FEED=f"ftp://anna:{SECRET}@127.0.0.1:9/events.jsonl",
        )
        status = neardup(project.folder, "watch", "--window", "--json")
    finally:
        server.stop()

    assert crawl.status == 0
    assert len(crawl.items) == 7
    if password == SECRET:
        assert crawl.neardup["events/breaking"] == 1
        for told in ("The webhook takes no events", "NEARDUP_EVENTS_FEED cannot be stored"):
            assert crawl.lines(told)
        assert json.loads(status.stdout)["documents"] == 7
    else:
        assert crawl.lines("ERROR", "check user and password")
        assert status.returncode == 2
    assert crawl.lines("The window of the last 24 hours is in redis://***@127.0.0.1")
    for text in (crawl.log, json.dumps(crawl.stats), status.stdout + status.stderr):
        assert SECRET not in text
        assert "anna" not in text
