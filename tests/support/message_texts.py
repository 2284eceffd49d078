"""Write the messages in docs/howto/alerts.md: ``PYTHONPATH=tests/support python tests/support/message_texts.py``.

They are those of a story of the test newsroom: a fire whose number of dead changes.
"""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from newsdesk import MINUTE, opened, text

from scrapy_neardup.stories.messages import message
from scrapy_neardup.stories.report import special_report

PAGE = Path(__file__).parents[2] / "docs/howto/alerts.md"
BEGIN, END = "<!-- messages: written by tests/support/message_texts.py -->\n", "<!-- end of messages -->\n"
_PAPERS = "harbour-courier evening-post northwire city-herald daily-mirror coast-times".split()
_LATER = "morning-star valley-news river-gazette".split()


async def reports() -> list[dict[str, Any]]:
    """Return the reports of all events of the story."""
    async with opened(store="memory://", event_rule="sources") as room:
        for number, paper in enumerate((*_PAPERS, *_LATER)):
            dead, hurt = (3, 12) if number < len(_PAPERS) else (7, 20)
            body = (
                f"The collapse of a bridge over the harbour left {dead} dead on Monday morning. The cause is unknown.\n"
                f"The fire brigade counted {hurt} injured by falling beams.\n{text('bridge', 200)}"
            )
            document = room.article("bridge", paper, number * 7 * MINUTE, text=body)
            title = f"Bridge collapse in the harbour kills {dead}"
            document = room.detector.document(
                body, url=f"https://www.{paper}.example/bridge", title=title, seen_at=document.seen_at
            )
            await room.detector.check(document)
            room.events += room.detector.take_events()
        await room.detector.finish(all_over=True)
        zone = ZoneInfo("Europe/Berlin")
        return [special_report(event, zone=zone) for event in room.events + room.detector.take_events()]


def as_seen(slack: Any) -> str:
    """Return a message of Slack as people see it."""
    header, *sections, context = slack["blocks"]
    links = re.sub(r"<([^|>]+)\|([^>]+)>", r"[\2]", context["elements"][0]["text"])
    lines = [header["text"]["text"], *(section["text"]["text"] for section in sections), links]
    return "\n".join(lines).replace("\u200b", "")


def section() -> str:
    """Return the text between the two marks of the page."""
    texts = [as_seen(message(report, "slack")) for report in asyncio.run(reports())]
    return "\n" + "".join(f"```text\n{each}\n```\n\n" for each in texts)


if __name__ == "__main__":
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}{section()}{END}{rest.partition(END)[2]}", encoding="utf-8")
