"""The urls of stores: what each means, what is wrong with it, and that no password is ever shown."""

import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from cases import read_cases
from conftest import OpenIndex
from documents import Article, check
from fleet import Fleet, documented_rights
from servers import RedisServer

from scrapy_neardup.detector import NearDupDetector
from scrapy_neardup.exceptions import SettingsError, StoreError, StoreUnavailable
from scrapy_neardup.index.redis.store import connect
from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.text.display import without_password
from scrapy_neardup.tools.ask import Ask

pytestmark = pytest.mark.versions

CASES = read_cases(Path(__file__).with_name("urls.txt"))


@pytest.mark.parametrize("url", [url for (url,) in CASES["right"]])
def test_a_url_is_taken(url: str) -> None:
    assert NearDupSettings.from_mapping({"NEARDUP_STORE": url}).store == url


async def test_all_nodes_of_a_cluster_are_named() -> None:
    client: Any = connect("redis+cluster://u:p%40@a:1,[::1]:2,c", 1)
    assert {(node.host, node.port) for node in client.nodes_manager.startup_nodes.values()} == {
        ("a", 1),
        ("::1", 2),
        ("c", 6379),
    }
    assert client.connection_kwargs["password"] == "p@"


@pytest.mark.parametrize(("url", "mend"), CASES["wrong"])
def test_a_wrong_url_is_told_the_right_one(url: str, mend: str) -> None:
    with pytest.raises(SettingsError, match=f"(?s)NEARDUP_STORE.*{mend}"):
        NearDupSettings.from_mapping({"NEARDUP_STORE": url})


@pytest.mark.parametrize("url", [url for (url,) in CASES["with a password"]])
def test_no_error_shows_a_password(url: str) -> None:
    with pytest.raises(SettingsError) as caught:
        NearDupSettings.from_mapping({"NEARDUP_STORE": url})
    assert "s3c" not in str(caught.value)
    assert "s3c" not in without_password(url)


@pytest.mark.slow
async def test_a_certificate_that_is_not_trusted_names_the_mend(open_index: OpenIndex, fleet: Fleet) -> None:
    url = fleet.url("tls").partition("?")[0]
    with pytest.raises(StoreError, match=r"ssl_ca_certs=/path/ca\.pem") as caught:
        await open_index(url)
    assert not isinstance(caught.value, StoreUnavailable)


async def test_a_database_the_server_does_not_have_is_named(open_index: OpenIndex, redis_url: str) -> None:
    with pytest.raises(StoreError, match="name a database the server has"):
        await open_index(redis_url[:-1] + "99")


async def test_a_single_server_is_no_cluster(open_index: OpenIndex, redis_server: RedisServer) -> None:
    with pytest.raises(StoreError, match=r"no node of a cluster: use redis://"):
        await open_index(f"redis+cluster://127.0.0.1:{redis_server.port}")


@pytest.mark.slow
async def test_a_node_of_a_cluster_is_no_single_server(open_index: OpenIndex, fleet: Fleet) -> None:
    nodes = re.findall(r"([\w.]+):(\d+)", fleet.url("cluster"))

    async def use_each() -> None:
        for host, port in nodes:  # one of them has the slot
            await open_index(f"redis://{host}:{port}/0")

    with pytest.raises(StoreError, match=r"use redis\+cluster://"):
        await use_each()


async def test_a_user_of_one_namespace_is_kept_to_it(
    open_index: OpenIndex, redis_server: RedisServer, namespace: str
) -> None:
    rights = [right for right in documented_rights() if not right.startswith("~")]
    with redis_server.client() as client:
        client.execute_command("ACL SETUSER", "one", "on", ">pw", f"~{{neardup:{namespace}-1:*", *rights)
    url = redis_server.url.replace("redis://", "redis://one:pw@")
    own = await open_index(url, namespace="-1")
    assert await check(own, Article()) is None
    with pytest.raises(StoreError, match="the user's ACL"):
        await open_index(url, namespace="-2")


NOTICE = "This article is for subscribers of the paper only, so please log in or buy a pass for a day to read on here."
SUBJECTS, VERBS = ("Fishermen", "Teachers", "Voters", "Engineers"), ("celebrate", "protest", "gather", "strike")
TITLES = [" ".join(words) for words in product(SUBJECTS, VERBS, ("Skerrow", "Halden"))]
REPORT = (
    "The harbour was closed at noon, because a crane had fallen over and blocked the entry for ferries and freighters."
)
OF_THE_CLIENT = {"client", "client|setinfo"}  # redis-py names itself if it may; Redis 7 and Valkey say it in full


@pytest.fixture
def restricted(tmp_path: Path) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path)
    server.start()
    with server.client() as client:
        client.execute_command("ACL SETUSER", "neardup", "on", ">password", *documented_rights())
    yield server
    server.stop()


def refused(server: RedisServer) -> set[str]:
    with server.client() as client:
        entries = client.acl_log()
    return {str(entry["object"]) for entry in entries} - OF_THE_CLIENT


@pytest.mark.parametrize("preset", ["news", "simhash"])
async def test_no_command_is_refused(restricted: RedisServer, preset: str) -> None:
    url = f"redis://neardup:password@127.0.0.1:{restricted.port}/0"
    settings = NearDupSettings(store=url, preset=preset, event_rule="count")
    events = []
    for paper in ("one", "other"):
        detector = NearDupDetector(settings, delivers_later=True)
        await detector.open()
        for title in TITLES:
            page = f"https://www.{paper}.example/{title.replace(' ', '-')}"
            document = detector.document(f"{title}.\n{NOTICE}", url=page, title=title)
            await detector.check(document)
            detector.delivery.deliver([document.id])
        await detector.delivery.withdraw([document.id])
        for number in range(40):
            await detector.check(
                detector.document(REPORT, url=f"https://www.{paper}-{number}.example/", title="Harbour")
            )
        events += detector.take_events()
        await detector.confirm_events()
        await Ask(detector).events()
        await detector.index.documents.records()
        await detector.index.summary()
        await detector.purge(source=f"{paper}.example")
        await detector.finish(all_over=True)
        await Ask(detector).stories()
        await detector.close()
    assert refused(restricted) == set()
    assert events
    with restricted.client() as client:
        kinds = {re.sub(r".*}:(\w+).*", r"\1", str(key)) for key in client.scan_iter()}
    page = (Path(__file__).parents[3] / "docs/redis.md").read_text(encoding="utf-8")
    assert kinds - {*re.findall(r"`…:(\w+)", page)} == set()
