"""``scrapy neardup doctor``: check everything around a crawl before it starts, and say how to fix it."""

from __future__ import annotations

import argparse
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from scrapy.exceptions import UsageError
from scrapy.settings import BaseSettings, Settings
from scrapy.utils.misc import load_object
from scrapy.utils.project import inside_project

from scrapy_neardup.addon import add_components, checked_settings
from scrapy_neardup.content.urls import unnamed_site
from scrapy_neardup.crawl.file_locations import can_be_written
from scrapy_neardup.crawl.run_summary import sites_of_few
from scrapy_neardup.detector import NearDupDetector
from scrapy_neardup.exceptions import NearDupError, SettingsError, StoreError
from scrapy_neardup.index import Index
from scrapy_neardup.index.store import Call, Client, Commit, Expected, Facts
from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.stories.event import Receiver
from scrapy_neardup.stories.receivers import receivers_of
from scrapy_neardup.stories.report import special_report
from scrapy_neardup.tools.commands.inputs import add_json, add_store, located_settings, with_store
from scrapy_neardup.tools.commands.terminal import print_json, print_wrapped, working
from scrapy_neardup.wording import without_password

_PATIENCE = 10.0  # seconds for one receiver
_MOST_CHANGES = 1000  # of stories, in which sites without names are looked for
_SENTENCE = "The ferry had left the harbour of the island at noon, and the fog came down before it reached the strait. "
_PAGE = (
    f"<html><body><nav>Home News Sport</nav><article><h1>A ferry in fog</h1>{f'<p>{_SENTENCE * 3}</p>' * 4}</article>"
)
_TITLE = "TEST, not a real event: sent by scrapy neardup doctor, please ignore"
_LINE = 'ADDONS = {"scrapy_neardup.Addon": 500}'
_BY_HAND = {
    "CapturePipeline": "ITEM_PIPELINES",
    "NearDupPipeline": "ITEM_PIPELINES",
    "NearDupDownloaderMiddleware": "DOWNLOADER_MIDDLEWARES",
    "NearDupSpiderMiddleware": "SPIDER_MIDDLEWARES",
}
"""What the add-on adds to the settings, and what a project without it adds itself."""


class Finding(NamedTuple):
    """The result of one check. ``mend`` says what to do, and is empty if nothing is wrong."""

    check: str
    found: str
    mend: str = ""
    is_warning: bool = False

    @property
    def state(self) -> str:
        if not self.mend:
            return "ok"
        return "warning" if self.is_warning else "failed"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_store(parser)
    parser.add_argument("--no-events", action="store_true", help="send no test event to the webhook")
    add_json(parser, "one JSON object for each check")


async def run(options: argparse.Namespace, settings: dict[str, Any]) -> int:
    with working("checking"):
        findings = await _find(options, settings)
    if options.json:
        for each in findings:
            print_json({"check": each.check, "state": each.state, "found": each.found, "mend": each.mend})
    else:
        _print(findings)
    return int(any(finding.state == "failed" for finding in findings))


def _print(findings: Sequence[Finding]) -> None:
    """Print each finding, and below it how to fix it. Lines break between words, so that a path stays whole."""
    width = max(len(finding.check) for finding in findings)
    for finding in findings:
        state = finding.state if finding.state == "ok" else finding.state.upper()
        print_wrapped(f"{state:<7}  {finding.check:<{width}}  {finding.found}", hanging=width + 11)
        if finding.mend:
            print_wrapped(f"{'':<{width + 11}}-> {finding.mend}", hanging=width + 11)


async def _find(options: argparse.Namespace, values: dict[str, Any]) -> list[Finding]:
    scrapy_settings = Settings(with_store(options, values))
    try:
        settings = checked_settings(scrapy_settings)
        embedding = settings.embedding()
    except (UsageError, SettingsError) as error:
        what = "store, extractor, events and webhook were not checked"
        again = "correct the setting that failed, and run this command again"
        return [
            Finding("settings", str(error), "change this setting"),
            _check_add_on(scrapy_settings),
            Finding("all others", what, again, is_warning=True),
        ]
    model = f", embedder {embedding.identity}" if embedding else ""
    chosen = f"preset {settings.preset}, action {settings.action}, namespace {settings.namespace}{model}"
    first = [Finding("settings", chosen), _check_add_on(scrapy_settings, enabled=settings.enabled)]
    return first + await _check_all(located_settings(options, values), send_events=not options.no_events)


async def _check_all(settings: NearDupSettings, *, send_events: bool) -> list[Finding]:
    found = [*await _check_store(settings), await _check_extractor(settings)]
    receivers = receivers_of(*settings.receivers, _PATIENCE) if send_events and settings.receivers else []
    return found + [await _check_receiver(each) for each in receivers]


def _check_add_on(settings: BaseSettings, *, enabled: bool = True) -> Finding:
    """Decide whether crawls with these settings of Scrapy judge items."""
    settings = settings.copy()
    try:
        if "Addon" in _our_classes(settings, "ADDONS"):
            add_components(settings)
        found = {each for name in dict.fromkeys(_BY_HAND.values()) for each in _our_classes(settings, name)}
    except ImportError as error:
        return Finding("add-on", str(error), f"correct or remove this entry; that of the plugin is {_LINE}")
    if not enabled:
        mend = "remove NEARDUP_ENABLED from the settings, or set it to True"
        return Finding("add-on", "NEARDUP_ENABLED = False: no item is judged", mend, is_warning=True)
    if missing := [part for part in _BY_HAND if part not in found]:
        return _not_wired(settings, missing)
    # With None, Twisted chooses another reactor. Without a reactor, Scrapy runs on asyncio alone.
    reactor = settings.get("TWISTED_REACTOR")
    if settings.getbool("TWISTED_REACTOR_ENABLED", True) and not str(reactor).endswith("AsyncioSelectorReactor"):
        mend = "remove TWISTED_REACTOR: the plugin needs asyncio, Scrapy's default"
        return Finding("add-on", f"TWISTED_REACTOR = {reactor!r}: no item is judged", mend)
    return Finding("add-on", "these settings turn the plugin on")


def _our_classes(settings: BaseSettings, name: str) -> set[str]:
    """Return the names of the plugin's classes that a setting turns on, also by classes derived from them.

    Raise ImportError if an entry of the plugin, or any add-on, cannot be loaded. Of others the crawl itself says so.
    """
    found: set[str] = set()
    for component in [each for each, order in (settings.getdict(name) or {}).items() if order is not None]:
        try:
            classes = getattr(load_object(component), "__mro__", ())
        except Exception as error:  # noqa: PERF203  importing a module may raise anything
            if name == "ADDONS" or "scrapy_neardup" in str(component):
                raise ImportError(f"{component!r}, which cannot be loaded: {error}") from error
        else:
            found |= {each.__name__ for each in classes if each.__module__.startswith("scrapy_neardup.")}
    return found


def _not_wired(settings: BaseSettings, missing: list[str]) -> Finding:
    if len(missing) < len(_BY_HAND):
        found = f"wired by hand, without {' and '.join(f'{part} in {_BY_HAND[part]}' for part in missing)}"
        mend = f'add it (docs/settings.md, "Wiring by hand"), or write {_LINE} instead'
        # Without this one items are judged, but bursts of responses take memory and hold up the crawl.
        return Finding("add-on", found, mend, is_warning=missing == ["NearDupDownloaderMiddleware"])
    if not inside_project():
        return Finding("add-on", f"not looked for, as there is no project here; in a script, set {_LINE}")
    mend = f"write {_LINE} into settings.py, beside other add-ons that are there"
    return Finding("add-on", f"ADDONS = {settings.getdict('ADDONS')!r}: the plugin is off, and no item is judged", mend)


async def _check_store(settings: NearDupSettings) -> list[Finding]:
    if settings.store == "memory://":
        mend = "use a file or a Redis, so that the next crawl knows what this one has seen"
        return [Finding("store", "memory://: the window ends with its process", mend, is_warning=True)]
    scheme, _, rest = settings.store.partition(":///")
    path = Path(rest) if scheme == "sqlite" else None
    if path is not None and not path.exists():
        mend = "" if can_be_written(path.parent) else "set NEARDUP_DATA_DIR to a directory that this user may write to"
        return [Finding("store", f"{path} (the first crawl makes it)", mend)]
    index = NearDupDetector(settings).index
    try:
        await index.open()
        found = [Finding("store", str(path))] if path else await _check_redis(index, without_password(settings.store))
        return [*found, *await _check_sites(index, settings)]
    except NearDupError as error:
        file = "give this user the right to write the file, or move it away, or name another one in NEARDUP_STORE"
        return [Finding("store", str(error), file if path else "check NEARDUP_STORE; is the server running?")]
    finally:
        await index.close()


async def _check_sites(index: Index, settings: NearDupSettings) -> list[Finding]:
    """Look for a story that is no event because all its sites count as a few sources."""
    changes, _ = await index.log_of_changes.newest(_MOST_CHANGES)
    stories = await index.log_of_changes.stories(each.story for each in changes)
    for _, members in stories.values():
        sites = {unnamed_site(each.url) for each in members} - {""}
        if told := sites_of_few(sites, settings):
            mend = "give each publisher a name with a dot, such as paper1.example"
            return [Finding("sources", told, mend, is_warning=True)]
    return []


async def _check_redis(index: Index, store: str) -> list[Finding]:
    key = index.layout.name(f"doctor:{secrets.token_hex(4)}")
    refused = await index.store.ask(lambda client: _try_commands(client, key))
    facts, rights = Facts({}), Finding("rights", "this user may call every command that is needed")
    try:
        await index.store.ask(lambda client: client.names(key))
        facts = await index.store.ask(lambda client: client.facts([key]))
    except StoreError as error:
        lost = f"watch, explain and purge do not work: {error}"
        rights = Finding("rights", lost, "see docs/redis.md", is_warning=True)
    if refused:
        rights = Finding("rights", f"the store cannot be used: {refused}", "ACL SETUSER, see docs/redis.md")
    server = ", ".join(filter(None, (facts.facts.get("server"), facts.facts.get("mode"))))
    policy = f"maxmemory-policy {facts.facts.get('maxmemory-policy', 'unknown')}, {facts.facts.get('memory', '')}"
    return [
        Finding("store", f"{store}{f' ({server})' if server else ''}"),
        rights,
        *(Finding("eviction", policy, warning, is_warning=True) for warning in facts.warnings or [""]),
    ]


async def _try_commands(client: Client, key: str) -> str:
    """Call each command that a crawl needs, for a key that the last one removes. Return what is refused."""
    calls: list[Call | Commit] = [
        Call("RUNS", key),
        Call("HSET", key, ("field", "value")),
        Call("EXPIRE", key, (60,)),
        *(Call(name, key, ("field",)) for name in ("HGET", "HEXISTS", "HMGET", "HDEL")),
        *(Call(name, key) for name in ("EXISTS", "TYPE", "TTL", "HGETALL", "HLEN")),
        Call("HSCAN", key, (0,)),
        Commit([Expected(Call("HGET", key, ("field",)))], []),
        Call("UNLINK", key),
        Call("XADD", key, ("*", "field", "value")),
        *(Call(name, key, ends) for name, ends in (("XLEN", ()), ("XRANGE", "-+"), ("XREVRANGE", "+-"))),
        Call("UNLINK", key),
    ]
    return "; ".join(dict.fromkeys(str(each) for each in await client.send(calls) if isinstance(each, Exception)))


async def _check_extractor(settings: NearDupSettings) -> Finding:
    if settings.extractor is None:
        return Finding("extractor", "none: each item must have its own text")
    extraction = settings.start_extraction()
    where = f"{settings.extractor} in a worker process"
    try:
        extracted = await extraction.extract(_PAGE, "https://www.neardup-doctor.example/ferry")
    except NearDupError as error:
        return Finding("extractor", f"{where}: {error}", "check NEARDUP_EXTRACTOR")
    finally:
        extraction.close()
    mend = "a test page gave no article: check NEARDUP_EXTRACTOR, unless it is for pages of another kind"
    return Finding("extractor", where, "" if _SENTENCE.strip() in extracted.text else mend, is_warning=True)


async def _check_receiver(receiver: Receiver) -> Finding:
    report = await _make_test_report()
    mend = "check NEARDUP_EVENTS_WEBHOOK and NEARDUP_EVENTS_NOTIFY, and the receiver's log"
    try:
        await receiver.deliver(report)
    except Exception as error:  # of aiohttp or the system
        return Finding(receiver.name, f"the test event was not taken: {error}", mend)
    finally:
        await receiver.close()
    return Finding(receiver.name, f"took the test event {report['id']}")


async def _make_test_report() -> dict[str, Any]:
    """Return the report of an event that never was. Its headline says so, and for machines the key ``test``."""
    detector = NearDupDetector(NearDupSettings(store="memory://"))
    await detector.open()
    try:
        for number in range(7):
            url = f"https://paper{number}.example/neardup-doctor"
            await detector.check(detector.document(_SENTENCE * 4, url=url, title=_TITLE))
        return {**special_report(detector.take_events()[0]), "test": True}
    finally:
        await detector.close()
