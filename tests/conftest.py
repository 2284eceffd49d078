from __future__ import annotations

import os
import signal
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from documents import ScriptedJudge
from faults import Clock
from fleet import KINDS, Fleet
from hypothesis import settings
from json_lines import write_lines
from long_form import LONG  # registers the profile of hypothesis
from news_site import NewsSite
from newsdesk import Newsroom, opened
from projects import NOTING_EXTRACTOR, Project
from receivers import Receiver
from redis import Redis
from report_items import JudgedSite, judged_site
from scrapy_processes import fast_python
from servers import RedisServer

from scrapy_neardup.detector import NearDupDetector
from scrapy_neardup.index import Index, Policy, index_from_url
from scrapy_neardup.rules.systems import NEWS, System
from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.tools.report.gathering import gather
from scrapy_neardup.tools.report.page import build_report

if TYPE_CHECKING:
    from playwright.sync_api import Browser

CONFIG = "00000001"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--quick", action="store_true", help="run one case of each test, and no slow tests")
    parser.addoption("--all-stores", action="store_true", help="run every test of the stores on every kind of Redis")


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """One more worker than cores, because tests wait for servers and processes that they started."""
    return (os.cpu_count() or 1) + 1


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Import no file whose tests would all be left out: reading all files takes as long as many tests."""
    is_left_out = config.option.markexpr == "versions" and collection_path.suffix == ".py"
    return True if is_left_out and "mark.versions" not in collection_path.read_text("utf-8") else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--quick"):
        return
    kept, left = {}, []
    for item in items:
        function = item.nodeid.partition("[")[0]
        # A page in the browser takes as long as a hundred other tests.
        behaviour = item.path if "browser" in getattr(item, "fixturenames", ()) else function
        if item.get_closest_marker("slow") or behaviour in kept:
            left.append(item)
        else:
            kept[behaviour] = item
    config.hook.pytest_deselected(items=left)
    items[:] = kept.values()


def pytest_configure(config: pytest.Config) -> None:
    # Ctrl-C must end the commands of the tests, also if the tests run in the background of a shell, which ignores it.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    settings.load_profile("usual")
    config.addinivalue_line("markers", "every_store: runs on several kinds of Redis, also without --all-stores")
    config.addinivalue_line("markers", "in_memory: tests rules, which all stores share, over a window in memory alone")
    config.addinivalue_line("markers", "slow: takes more than two seconds of a processor, and is not run by --quick")
    config.addinivalue_line("markers", "versions: also runs with the oldest versions of the dependencies")


@pytest.fixture(scope="session")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    started = Fleet(tmp_path_factory.mktemp("fleet"))
    yield started
    started.close()


@pytest.fixture(scope="session")
def redis_url(fleet: Fleet) -> str:
    """One server for all tests; each of them takes a namespace of its own and leaves nothing behind."""
    return fleet.url("redis")


@pytest.fixture
def redis_server(tmp_path: Path) -> Iterator[RedisServer]:
    """A server of this test alone, to be killed, hung and restarted."""
    server = RedisServer(tmp_path).start()
    yield server
    server.stop()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def namespace(request: pytest.FixtureRequest) -> Iterator[str]:
    name = f"test-{uuid.uuid4().hex}"
    yield name
    if "redis_url" in request.fixturenames:
        client = Redis.from_url(request.getfixturevalue("redis_url"))
        if keys := list(client.scan_iter(match=f"{{neardup:{name}*", count=1000)):
            client.unlink(*keys)
        client.close()


@pytest.fixture
async def detector() -> AsyncIterator[NearDupDetector]:
    """Over an empty window in memory, in November 2023."""
    detector = NearDupDetector(NearDupSettings(store="memory://"), clock=lambda: 1_700_000_000.0)
    await detector.open()
    yield detector
    await detector.close()


STORES: dict[str, Callable[[pytest.FixtureRequest], str]] = {
    "memory": lambda request: "memory://",
    "sqlite": lambda request: f"sqlite:///{request.getfixturevalue('tmp_path')}/window.sqlite",
    **{kind: lambda request, kind=kind: str(request.getfixturevalue("fleet").url(kind)) for kind in KINDS},
}
"""Every store the contract is kept by: a name, and what makes the url of a running one."""

USUAL = ("memory", "redis")
"""Those that run every test; a file replaces the memory if processes share the store: the code is the same.

The other kinds of Redis run a selection of the tests unless --all-stores is given.
"""

RESTRICTED = ("cluster", "acl")
"""Kinds that refuse what others allow. They run each test that is marked ``every_store``."""

OTHERS = [kind for kind in STORES if kind not in (*USUAL, *RESTRICTED, "sqlite")]
"""Each of these tests runs over one of the others, or over all of them in the long form."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    for name in {"store_url", "shared_url"} & set(metafunc.fixturenames):
        is_marked = metafunc.definition.get_closest_marker
        everything = metafunc.config.getoption("--all-stores") or (LONG and is_marked("every_store"))
        kinds: Iterable[str] = USUAL
        if everything:
            kinds = STORES
        elif is_marked("every_store") and metafunc.config.option.markexpr != "versions":
            kinds = [*USUAL, *RESTRICTED, OTHERS[len(metafunc.function.__name__) % len(OTHERS)]]
        elif is_marked("in_memory"):
            kinds = ["memory"]
        if name == "shared_url":  # processes do not share a memory
            kinds = dict.fromkeys("sqlite" if kind == "memory" else kind for kind in kinds)
        metafunc.parametrize(name, [*kinds], indirect=True)


@pytest.fixture
def store_url(request: pytest.FixtureRequest) -> str:
    return STORES[request.param](request)


@pytest.fixture
def shared_url(request: pytest.FixtureRequest) -> str:
    return STORES[request.param](request)


OpenIndex = Callable[..., Awaitable[Index]]
"""Takes a url, a policy, and by name: namespace, config, timeout."""


@pytest.fixture
async def open_index(namespace: str) -> AsyncIterator[OpenIndex]:
    """Opens indexes in the test's namespace, and closes them when the test is over."""
    opened: list[Index] = []
    suffix = namespace

    async def factory(
        url: str,
        policy: Policy = Policy(),  # noqa: B008 (frozen)
        *,
        system: System = NEWS,
        namespace: str = "",
        config: str = CONFIG,
        timeout: float = 5.0,
    ) -> Index:
        index = index_from_url(
            url, namespace=suffix + namespace, config=config, judge=ScriptedJudge(policy, system), timeout=timeout
        )
        opened.append(index)
        await index.open()
        return index

    yield factory
    for index in opened:
        await index.close()


@pytest.fixture
def open_store(open_index: OpenIndex, store_url: str) -> OpenIndex:
    """Opens indexes over each store: takes a policy, and what ``open_index`` takes by name."""
    return partial(open_index, store_url)


@pytest.fixture
async def index(open_index: OpenIndex, store_url: str) -> Index:
    """An empty index under the default policy, once for every store."""
    return await open_index(store_url)


@pytest.fixture
def sqlite_file(tmp_path: Path) -> Path:
    return tmp_path / "window.sqlite"


@pytest.fixture
def sqlite_url(sqlite_file: Path) -> str:
    return f"sqlite:///{sqlite_file}"


@pytest.fixture
def redis_keys(redis_url: str) -> Iterator[Redis]:
    with closing(Redis.from_url(redis_url)) as client:
        yield client


@pytest.fixture
async def newsroom() -> AsyncIterator[Newsroom]:
    """A newsroom over a window in memory: what a store keeps of stories is tested in tests/index."""
    async with opened(store="memory://") as room:
        yield room


@pytest.fixture
def fast_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes that the package starts in this one begin as forks: for tests that do not look at the processes."""
    monkeypatch.setattr("sys.executable", fast_python())


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as running:
        yield running


@pytest.fixture
def site() -> Iterator[NewsSite]:
    with NewsSite() as running:
        yield running


@pytest.fixture(params=["sqlite", "redis"])
def store(request: pytest.FixtureRequest) -> str:
    """The stores that crawls of several processes share."""
    return "sqlite:///window.sqlite" if request.param == "sqlite" else str(request.getfixturevalue("redis_url"))


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """An empty project, with an extractor that notes the urls of its pages for who asks for it."""
    project = Project(tmp_path)
    project.write("news/noting.py", NOTING_EXTRACTOR)
    return project


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Headless Chromium. It ends with the module: while it runs, no asynchronous test can run in this process."""
    from browser import running_chromium

    with running_chromium() as running:
        yield running


@pytest.fixture(scope="session")
def judged_day(tmp_path_factory: pytest.TempPathFactory) -> JudgedSite:
    """One day of the bundled site, judged by a replay."""
    return judged_site(tmp_path_factory.mktemp("day"))


@pytest.fixture(scope="session")
def day_report(judged_day: JudgedSite, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of this day, with texts and events."""
    day = judged_day
    built = build_report(gather([day.verdicts, day.events], NearDupSettings(), [day.documents]), "One day")
    page = tmp_path_factory.mktemp("page") / "report.html"
    page.write_text(built.html, encoding="utf-8")
    return page


@pytest.fixture
def write_report(tmp_path: Path) -> Callable[..., Path]:
    """Writes the report of items, and returns its path."""

    def write(items: list[dict[str, Any]], **settings: Any) -> Path:
        feed, page = tmp_path / "items.jsonl", tmp_path / "report.html"
        write_lines(feed, items)
        page.write_bytes(build_report(gather([feed], NearDupSettings(**settings))).html.encode("utf-8"))
        return page

    return write
