"""Who published a document: strangers on one platform, and domains of other scripts."""

from __future__ import annotations

import pytest
from newsdesk import MINUTE, START, opened, text

from scrapy_neardup.content import source_of
from scrapy_neardup.settings import NearDupSettings

VICTIM = "https://harbour.blogspot.com/2026/11/ferry.html"


async def test_pages_of_one_blog_make_no_boilerplate_of_another_blog() -> None:
    async with opened(store="memory://") as room:
        for number, title in enumerate(("Garden in May", "Cheap flights tonight", "Chess for beginners")):
            url = f"https://attacker.blogspot.com/{number}"
            await room.detector.check(room.detector.document(text("ferry"), url=url, title=title, seen_at=START))
        verdict = await room.publish("ferry", "", 10, url=VICTIM)
        assert (verdict.status, verdict.reason) == ("duplicate", None)


async def test_an_article_number_is_valid_within_one_blog() -> None:
    """Two pages of one source in two languages with one article number are translations."""
    async with opened(store="memory://") as room:
        await room.publish("ferry", "", 0, url="https://harbour.github.io/news/1234567", language="en")
        stranger = await room.publish("volcano", "", 1, url="https://attacker.github.io/news/1234567", language="is")
        translation = await room.publish("Fähre", "", 2, url="https://harbour.github.io/de/1234567", language="de")
        assert (stranger.status, translation.kind) == ("original", "translation")


@pytest.mark.parametrize("platform", ["blogspot.com", "substack.com"])
async def test_many_blogs_of_a_platform_are_one_owner_unless_owners_are_named(platform: str) -> None:
    owners = {f"blog{n}.{platform}": f"Author {n}" for n in range(20, 25)}
    settings = NearDupSettings.from_mapping({"NEARDUP_STORE": "memory://", "NEARDUP_SOURCE_OWNERS": owners})
    async with opened(store="memory://", source_owners=settings.source_owners) as room:
        for n in range(20):
            await room.publish("fire", "", n * MINUTE, url=f"https://blog{n}.{platform}/fire")
        assert room.events == []
        for n in range(20, 25):
            await room.publish("fire", "", n * MINUTE, url=f"https://blog{n}.{platform}/fire")
        (event,) = room.events
        assert event.level == "breaking"
        assert (event.members[0].source, event.members[0].owner) == (f"blog0.{platform}", platform)
    assert settings.owner_of(f"blog24.{platform}") == "Author 24"


@pytest.mark.parametrize(
    ("named", "kept", "other"),
    [
        ("blogspot.com", "harbour.blogspot.com", "harbour.github.io"),
        ("harbour.blogspot.com", "harbour.blogspot.com", "attacker.blogspot.com"),
        ("https://bücher.example/", "xn--bcher-kva.example", "bucher.example"),
        ("xn--bcher-kva.example", "bücher.example", "bucher.example"),
        ("BÜCHER。example.", "www.bücher.example", "bucher.example"),
        ("wire.example", "news.wire.example", "notwire.example"),
    ],
)
def test_settings_name_a_source_or_all_sources_of_a_platform(named: str, kept: str, other: str) -> None:
    settings = NearDupSettings.from_mapping({"NEARDUP_KEEP_SOURCES": [named], "NEARDUP_SOURCE_OWNERS": {named: "Ann"}})
    least = [settings.policy().least_dropped_share(source_of(f"https://{host}/a")) for host in (kept, other)]
    assert (least[0] > 1, least[1]) == (True, settings.drop_share)
    assert (
        settings.owner_of(source_of(f"https://{kept}/a")) == "Ann" != settings.owner_of(source_of(f"https://{other}/"))
    )


@pytest.mark.every_store
async def test_a_blog_and_a_whole_platform_can_be_purged(shared_url: str, namespace: str) -> None:
    hosts = ["harbour.blogspot.com", "other.blogspot.com", "paper.example", "bücher.example"]
    async with opened(store=shared_url, namespace=namespace) as room:
        for number, host in enumerate(hosts):
            await room.publish(number, "", number, url=f"https://{host}/{number}")
        for number in range(3):
            url, title = f"https://other.blogspot.com/{number}", text(number, 3)
            await room.detector.check(room.detector.document(text("wall"), url=url, title=title, seen_at=START))
    async with opened(store=shared_url, namespace=namespace) as room:
        found = [await room.detector.purge(source=name, dry_run=True) for name in ("blogspot.com", *hosts)]
        assert found == [5, 1, 4, 1, 1]
        assert await room.detector.purge(source="https://HARBOUR.blogspot.com/any") == 1
        assert await room.detector.purge(source="blogspot.com") == 4
        assert [await room.detector.purge(source=name) for name in hosts[2:]] == [1, 1]
    async with opened(store=shared_url, namespace=namespace) as room:
        again = await room.publish("wall", "", 10, url="https://other.blogspot.com/")
        assert again.status == "original", "what was learned of each blog is removed too"


@pytest.mark.parametrize("owners", [{"bücher.example": "A", "xn--bcher-kva.example": "B"}, {"co.uk": "A"}])
def test_owners_of_no_source_are_refused(owners: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=r"NEARDUP_SOURCE_OWNERS.*(two owners|not a source)"):
        NearDupSettings.from_mapping({"NEARDUP_SOURCE_OWNERS": owners})
