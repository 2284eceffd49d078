"""A story that is muted raises no events, in every store, until it is unmuted or gone."""

from __future__ import annotations

from newsdesk import MINUTE, Newsroom, toll
from projects import FERRY, Project
from scrapy_processes import neardup


async def test_a_muted_story_says_no_more_not_even_its_end(newsroom: Newsroom) -> None:
    for n in range(6):
        await newsroom.publish("fire", f"s{n}", n * MINUTE)
    assert newsroom.levels == ["breaking"]
    story = newsroom.events[0].story.id
    muted = await newsroom.detector.index.mute(story, muted=True)
    assert muted is not None
    assert muted.is_muted
    for n in range(6, 30):
        verdict = await newsroom.publish("fire", f"s{n}", n * MINUTE, text=toll(12) if n % 2 else toll(4))
        assert verdict.event is None
    (running,) = await newsroom.detector.current_events()
    assert running.story.is_muted
    await newsroom.detector.finish(all_over=True)
    assert newsroom.levels == ["breaking"]
    assert newsroom.detector.take_events() == []
    assert await newsroom.detector.current_events() == []
    assert len(await newsroom.detector.index.ended_events(0)) == 1, "the alarm budget counts it"


async def test_a_story_is_unmuted(newsroom: Newsroom) -> None:
    await newsroom.publish("fire", "s0", 0)
    story = (await newsroom.publish("fire", "s1", MINUTE)).story
    assert story is not None
    await newsroom.detector.index.mute(story, muted=True)
    for n in range(2, 8):
        await newsroom.publish("fire", f"s{n}", n * MINUTE)
    assert newsroom.levels == []
    unmuted = await newsroom.detector.index.mute(story, muted=False)
    assert unmuted is not None
    assert not unmuted.is_muted
    await newsroom.publish("fire", "s8", 8 * MINUTE)
    assert newsroom.levels == ["breaking"]


def test_the_command_mutes_the_story_that_it_lists(project: Project) -> None:
    project.crawl(FERRY)
    listed = neardup(project.folder, "events", columns=200).stdout
    story = listed.partition("of story ")[2][:16]
    assert "muted" not in listed
    assert f"Story {story} is muted." in neardup(project.folder, "events", "--mute", story).stdout
    assert "muted" in neardup(project.folder, "events", columns=200).stdout
    assert "no longer muted" in neardup(project.folder, "events", "--unmute", story).stdout
    for wrong, why in (("fire", "is no id of a story"), ("00" * 8, "the window has no such story")):
        failed = neardup(project.folder, "events", "--mute", wrong)
        assert failed.returncode == 2
        assert why in failed.stderr
