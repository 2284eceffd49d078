"""Judge documents in a plain asyncio program: ``python -m integrations.without_scrapy``.

Exit status 0 if every verdict is the one in the truth file.
"""

from __future__ import annotations

import asyncio
import sys
from datetime import datetime

from check_truth import Row
from integrations.offline import check
from newsroom.site.press import Page, read_pages

from scrapy_neardup import NearDupDetector, NearDupSettings, Verdict


async def judge(pages: list[Page]) -> list[Verdict]:
    detector = NearDupDetector(NearDupSettings(store="memory://"))
    await detector.open()
    try:
        documents = [
            detector.document(
                "\n".join(page.paragraphs()),
                url=page.url,
                title=page.headline,
                seen_at=datetime.fromisoformat(page.published.replace("Z", "+00:00")).timestamp(),  # default: now
            )
            for page in pages
        ]
        verdicts = await asyncio.gather(*map(detector.check, documents))
        for event in detector.take_events():
            print(f"{event.level}: {event.members[0].title} ({len(event.members)} documents)")
        await detector.confirm_events()  # after they were handled
    finally:
        await detector.close()
    return verdicts


def tagged(page: Page, verdict: Verdict) -> Row:
    values = {name: getattr(verdict, name) for name in ("status", "kind", "reason")}
    values["original"] = verdict.original_url or verdict.original
    return {"url": page.url, **{f"neardup_{name}": value for name, value in values.items()}}


def main() -> int:
    pages = sorted(read_pages(), key=lambda page: page.published)
    verdicts = asyncio.run(judge(pages))
    return int(not check([tagged(page, verdict) for page, verdict in zip(pages, verdicts, strict=True)]))


if __name__ == "__main__":
    sys.exit(main())
