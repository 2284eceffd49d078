"""At the end of a crawl, list the stories that became a part of another one.

Items that were exported before that have the id of the earlier story.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from scrapy.crawler import Crawler

from scrapy_neardup.crawl.feeds import JsonLinesFeed, default_path, without_login
from scrapy_neardup.document import counted
from scrapy_neardup.settings import DEFAULT_STORIES_FEED, NearDupSettings

logger = logging.getLogger(__name__)


class FinalStories:
    """Writes one line for each story that became a part of another one.

    Raise SettingsError if nothing can be stored under the uri of the feed.
    """

    def __init__(self, crawler: Crawler, settings: NearDupSettings) -> None:
        uri = settings.stories_feed
        path = default_path(settings, uri) if uri == DEFAULT_STORIES_FEED else uri
        self._feed = None if path is None else JsonLinesFeed(crawler, "NEARDUP_STORIES_FEED", path)

    async def write(self, final_stories: Mapping[str, str]) -> None:
        """Write and store the lines, one for each id in ``final_stories``. Raise nothing: a failure is logged once."""
        united = f"{counted(len(final_stories), 'story', 'stories')} became a part of another story"
        if self._feed is None:
            logger.info("%s; NEARDUP_STORIES_FEED = None, so the list of them is not written", united)
            return
        try:
            for story, final_story in final_stories.items():
                self._feed.put({"story": story, "final_story": final_story})
        except Exception as error:
            logger.warning("NEARDUP_STORIES_FEED: %s, but this cannot be written: %s", united, without_login(error))
            return
        if await self._feed.close():
            logger.info("NEARDUP_STORIES_FEED: %s; the list of them is in %s", united, self._feed.shown_uri)
