"""``scrapy neardup doctor``: check everything around a crawl before it starts, and say how to fix it."""

import secrets
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from scrapy.exceptions import UsageError
from scrapy.settings import BaseSettings, Settings
from scrapy.utils.misc import load_object
from scrapy.utils.project import inside_project

from scrapy_neardup import NearDupDetector, NearDupError, NearDupSettings, SettingsError, StoreError
from scrapy_neardup.addon import ITEMS_AT_ONCE, Addon, checked_settings
from scrapy_neardup.content.processes import ExtractionProcesses, worker_options
from scrapy_neardup.crawl.component import can_be_written
from scrapy_neardup.detector import embedding_of
from scrapy_neardup.index import Index
from scrapy_neardup.index.store import Facts
from scrapy_neardup.stories.event import Receiver
from scrapy_neardup.stories.receivers import receivers_of
from scrapy_neardup.stories.report import special_report
from scrapy_neardup.text.display import without_password
from scrapy_neardup.tools.commands.console import (
    NAMESPACE,
    STORE,
    Options,
    Values,
    json_option,
    located_settings,
    option,
    print_json,
    print_wrapped,
    with_store,
)
from scrapy_neardup.tools.lab.replay import opened

_SENTENCE = "The ferry had left the harbour of the island at noon, and the fog came down before it reached the strait. "
_LINE = 'ADDONS = {"scrapy_neardup.Addon": 500}'


class Check(NamedTuple):
    """What was found about one thing. ``mend`` says what to do, and is empty if nothing is wrong."""

    name: str
    found: str
    mend: str = ""
    is_warning: bool = False

    @property
    def state(self) -> str:
        if not self.mend:
            return "ok"
        return "warning" if self.is_warning else "failed"


OPTIONS = (
    STORE,
    NAMESPACE,
    option(
        "--no-events", action="store_true", help="send no test event to the receivers: webhook, services, Atom file"
    ),
    json_option("one JSON object for each check"),
)


async def run(options: Options, values: Values) -> int:
    scrapy_settings = Settings(with_store(options, values))
    try:
        settings = checked_settings(scrapy_settings)
        embedding = embedding_of(settings)
    except (UsageError, SettingsError) as error:
        checks = [
            Check("settings", str(error), "change this setting"),
            _check_add_on(scrapy_settings),
            Check(
                "all others",
                "store, extractor and receivers of events were not checked",
                "correct the setting that failed, and run this command again",
                is_warning=True,
            ),
        ]
    else:
        chosen = f"preset {settings.preset}, action {settings.action}, namespace {settings.namespace}"
        if embedding:
            chosen += f", embedder {embedding.identity}"
        settings = located_settings(options, values)
        checks = [
            Check("settings", chosen),
            _check_add_on(scrapy_settings, enabled=settings.enabled),
            *await _check_store(settings),
            await _check_extractor(settings),
        ]
        receivers = receivers_of(settings)
        if receivers and not options.no_events:
            checks += await _check_receivers(receivers)
    width = max(len(each.name) for each in checks)
    for each in checks:
        if options.json:
            print_json({"check": each.name, "state": each.state, "found": each.found, "mend": each.mend})
        else:  # lines break between words, so that a path stays whole
            state = each.state.upper().replace("OK", "ok")
            print_wrapped(f"{state:<7}  {each.name:<{width}}  {each.found}", hanging=width + 11)
            if each.mend:
                print_wrapped(f"{'':<{width + 11}}-> {each.mend}", hanging=width + 11)
    return int(any(each.state == "failed" for each in checks))


def _check_add_on(settings: BaseSettings, *, enabled: bool = True) -> Check:
    has_add_on = False  # or a class derived from it
    for entry, order in settings.getdict("ADDONS").items():
        try:
            has_add_on |= order is not None and issubclass(load_object(entry), Addon)
        except Exception as error:  # noqa: PERF203  importing a module may raise anything
            return Check(
                "add-on",
                f"{entry!r}, which cannot be loaded: {error}",
                f"correct or remove this entry; that of the plugin is {_LINE}",
            )
    pipelines = [each for each, order in settings.getdict("ITEM_PIPELINES").items() if order is not None]
    is_on = has_add_on or "NearDupPipeline" in str(pipelines)
    if not enabled:
        return Check(
            "add-on",
            "NEARDUP_ENABLED = False: no item is judged",
            "remove NEARDUP_ENABLED from the settings, or set it to True",
            is_warning=True,
        )
    if not is_on and not inside_project():
        return Check("add-on", f"not looked for, as there is no project here; in a script, set {_LINE}")
    if not is_on:
        return Check(
            "add-on",
            f"ADDONS = {settings.getdict('ADDONS')!r}: the plugin is off, and no item is judged",
            f"write {_LINE} into settings.py, beside other add-ons that are there",
        )
    # With None, Twisted chooses another reactor. Without a reactor, Scrapy runs on asyncio alone.
    reactor = settings.get("TWISTED_REACTOR")
    if settings.getbool("TWISTED_REACTOR_ENABLED", True) and not str(reactor).endswith("AsyncioSelectorReactor"):
        return Check(
            "add-on",
            f"TWISTED_REACTOR = {reactor!r}: no item is judged",
            "remove TWISTED_REACTOR: the plugin needs asyncio, Scrapy's default",
        )
    if has_add_on:
        settings = settings.copy()
        settings.set("CONCURRENT_ITEMS", ITEMS_AT_ONCE, "addon")
    return Check(
        "add-on", f"these settings turn the plugin on, with CONCURRENT_ITEMS = {settings.getint('CONCURRENT_ITEMS')}"
    )


async def _check_store(settings: NearDupSettings) -> list[Check]:
    if settings.store == "memory://":
        return [
            Check(
                "store",
                "memory://: the window ends with its process",
                "use a file or a Redis, so that the next crawl knows what this one has seen",
                is_warning=True,
            )
        ]
    scheme, _, rest = settings.store.partition(":///")
    path = Path(rest) if scheme == "sqlite" else None
    if path is not None and not path.exists():
        mend = ""
        if not can_be_written(path.parent):
            mend = "set NEARDUP_DATA_DIR to a directory that this user may write to"
        return [Check("store", f"{path} (the first crawl makes it)", mend)]
    index = NearDupDetector(settings).index
    try:
        await index.open()
        if path is None:
            return await _check_redis(index, without_password(settings.store))
        return [Check("store", str(path))]
    except NearDupError as error:
        file = "give this user the right to write the file, or move it away, or name another one in NEARDUP_STORE"
        return [Check("store", str(error), file if path else "check NEARDUP_STORE; is the server running?")]
    finally:
        await index.close()


async def _check_redis(index: Index, store: str) -> list[Check]:
    from scrapy_neardup.index.redis.store import refused_commands  # as in ``index``: other subcommands need no redis

    key = index.layout.name(f"doctor:{secrets.token_hex(4)}")
    refused = await index.store.ask(lambda client: refused_commands(client, key))
    found = Facts({})
    rights = Check("rights", "this user may call every command that is needed")
    try:
        await index.store.ask(lambda client: client.names(key))
        found = await index.store.ask(lambda client: client.facts([key]))
    except StoreError as error:
        rights = Check("rights", f"watch, explain and purge do not work: {error}", "see docs/redis.md", is_warning=True)
    if refused:
        rights = Check("rights", f"the store cannot be used: {refused}", "ACL SETUSER, see docs/redis.md")
    server = "".join(f" ({found.facts[name]})" for name in ("server", "mode") if name in found.facts)
    policy = f"maxmemory-policy {found.facts.get('maxmemory-policy', 'unknown')}, {found.facts.get('memory', '')}"
    return [
        Check("store", f"{store}{server}"),
        rights,
        *(Check("eviction", policy, warning, is_warning=True) for warning in found.warnings or ("",)),
    ]


async def _check_extractor(settings: NearDupSettings) -> Check:
    if settings.extractor is None:
        return Check("extractor", "none: each item must have its own text")
    extraction = ExtractionProcesses(worker_options(settings, sketches=True))
    where = f"{settings.extractor} in a worker process"
    try:
        extracted = await extraction.extract(
            "<html><body><nav>Home News Sport</nav><article><h1>A ferry in fog</h1>"
            f"{f'<p>{_SENTENCE * 3}</p>' * 4}</article>",
            "https://www.neardup-doctor.example/ferry",
        )
    except NearDupError as error:
        return Check("extractor", f"{where}: {error}", "check NEARDUP_EXTRACTOR")
    finally:
        extraction.close()
    if _SENTENCE.strip() in extracted.text:
        return Check("extractor", where)
    return Check(
        "extractor",
        where,
        "a test page gave no article: check NEARDUP_EXTRACTOR, unless it is for pages of another kind",
        is_warning=True,
    )


async def _check_receivers(receivers: Iterable[Receiver]) -> list[Check]:
    """Send an event that never was to each receiver. Its headline says so, and for machines the key ``test``."""
    checks = []
    async with opened(NearDupDetector(NearDupSettings(store="memory://"))) as detector:
        for number in range(7):
            await detector.check(
                detector.document(
                    _SENTENCE * 4,
                    url=f"https://paper{number}.example/neardup-doctor",
                    title="TEST, not a real event: sent by scrapy neardup doctor, please ignore",
                )
            )
        report = {**special_report(detector.take_events()[0]), "test": True}
    for receiver in receivers:
        try:
            await receiver.deliver(report)
            checks.append(Check(receiver.name, f"took the test event {report['id']}"))
        except Exception as error:  # noqa: PERF203  of aiohttp or the system
            checks.append(
                Check(
                    receiver.name,
                    f"the test event was not taken: {error}",
                    f"check {receiver.setting} and the receiver's log",
                )
            )
        finally:
            await receiver.close()
    return checks
