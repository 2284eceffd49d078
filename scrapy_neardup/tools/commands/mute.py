"""``scrapy neardup mute ID``: raise no more events of a story."""

from scrapy_neardup.exceptions import InputError
from scrapy_neardup.tools.ask import is_document_id
from scrapy_neardup.tools.commands.console import NAMESPACE, STORE, Options, Values, live_detector, option

OPTIONS = (
    option("story", metavar="ID", help="id of the story, as messages and `watch --events` show it"),
    option("--undo", action="store_true", help="raise events of this story again"),
    STORE,
    NAMESPACE,
)


async def run(options: Options, values: Values) -> int:
    async with live_detector(options, values) as detector:
        story = None
        if is_document_id(options.story):
            story = await detector.index.stories.mute(options.story, muted=not options.undo)
    if story is None:
        raise InputError(
            f"{options.story}: the window has no such story. `scrapy neardup watch --events` lists running ones"
        )
    muted = "no longer muted. Its events are raised again" if options.undo else "muted. No more events of it are raised"
    print(f"Story {story.id} is {muted}.")
    return 0
