"""Show each alarm of recorded days as an editor meets it: when it rings, what delayed it, whether it is worth ringing.

usage: python benchmarks/alarms.py [--data DIR] [--only SET ...] [--known]

DIR as for accuracy.py. The labels are in labels/alarms.jsonl and labels/disasters.jsonl, see labels/README.md. With
``--known`` all papers are known for a week when the data begin. Else no language has few papers until then.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from statistics import median
from typing import Any

from shared import HALVES, data_parser, half_of, print_table, unpacked

from scrapy_neardup.detector import NearDupDetector
from scrapy_neardup.document import HOUR
from scrapy_neardup.evidence.sources import country_of
from scrapy_neardup.records.stories import owner_in
from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.stories.event import StoryEvent
from scrapy_neardup.stories.report import special_report
from scrapy_neardup.stories.rules import BURST_SPAN, HISTORY, people_harmed
from scrapy_neardup.story import MANY_FIGURES, Member, Story
from scrapy_neardup.tools.lab.feed import read_feed
from scrapy_neardup.tools.lab.replay import PageReader, RecordedPage, document_of, replay

SETS = ("day-dev", "toll-dev")
SETTINGS = NearDupSettings(store="memory://")
LABELS = Path(__file__).parent / "labels"
LARGE = 8  # sources of a story that must not be missed
RINGING = ("breaking", "update")  # a disaster may go on in a story that has rung before
SOON = 3 * HOUR  # after the second source of a disaster
PAUSE = 24 * HOUR  # after a longer one the window is empty


@dataclass
class Outcome:
    """What a replay raised. Ids are those of the data."""

    ids: dict[str, str] = field(default_factory=dict)  # by document id
    times: dict[str, float] = field(default_factory=dict)
    owners: dict[str, str] = field(default_factory=dict)
    events: list[StoryEvent] = field(default_factory=list)
    last: dict[str, StoryEvent] = field(default_factory=dict)  # the last event of each story


def main() -> None:
    parser = data_parser(__doc__)
    parser.add_argument("--only", nargs="+", choices=SETS, default=SETS, metavar="SET")
    parser.add_argument("--known", action="store_true", help="all papers are known for a week")
    options = parser.parse_args()
    with ExitStack() as stack:
        data = unpacked(options.data, stack)
        reader = stack.enter_context(PageReader(SETTINGS, 1, sketches=True))
        for name in options.only:
            outcome = asyncio.run(_run(data / f"{name}.jsonl", reader, is_known=options.known))
            print(f"\n## {name}")
            report_alarms(outcome)
            if name == "toll-dev":
                report_disasters(outcome)
            else:
                report_labels(outcome)


async def _run(path: Path, reader: PageReader, *, is_known: bool) -> Outcome:
    outcome = Outcome()
    pages = [page for page in reader.read(read_feed(path)) if page.recorded.time is not None]
    begins = [n for n, page in enumerate(pages) if not n or page.recorded.time - pages[n - 1].recorded.time > PAUSE]
    for begin, end in zip(begins, [*begins[1:], len(pages)], strict=True):
        await _replay(pages[begin:end], outcome, is_known=is_known)
    outcome.last = {event.story.id: event for event in outcome.events}
    return outcome


async def _replay(pages: Sequence[RecordedPage], outcome: Outcome, *, is_known: bool) -> None:
    detector = NearDupDetector(SETTINGS, run="")
    await detector.open()
    if is_known:
        documents = [document_of(page, detector) for page in pages]
        owners = {
            owner_in(code, SETTINGS.owner_of(each.source))
            for each in documents
            for code in (each.language, country_of(each.source))
        }
        await detector.index.events.note_owners(owners, int(pages[0].recorded.time or 0) - HISTORY)
    async for judged in replay(pages, detector, outcome.events.append, all_over=True):
        if judged.document is not None:
            key = str(judged.page.recorded.id)
            outcome.ids[judged.document.id] = key
            outcome.times[key] = judged.document.seen_at
            outcome.owners[key] = SETTINGS.owner_of(judged.document.source)
    await detector.close()


def _alarms(outcome: Outcome) -> list[StoryEvent]:
    return [event for event in outcome.events if event.level == "breaking"]


def report_alarms(outcome: Outcome) -> None:
    labels = _labels()
    rows = []
    for event in _alarms(outcome):
        story = event.story
        fifth = f"{(story.sources[4] - story.sources[0]) // 60}" if len(story.sources) > 4 else "-"
        rows.append(
            (
                datetime.fromtimestamp(event.time, timezone.utc).strftime("%d %H:%M"),
                _label(event.members, outcome, labels).get("label", "unread"),
                len(story.sources),
                fifth,
                (event.time - story.sources[0]) // 60,
                _delay(event),
                str(special_report(event)["headline"]).replace("|", "/")[:90],
            )
        )
    head = ("alarm", "label", "sources", "minute of the fifth", "minute of the alarm", "why not before", "headline")
    print_table(f"{len(rows)} alarms", head, rows)
    print_table("What delays alarms", ("why", "alarms"), Counter(row[5] for row in rows).most_common())
    updates = [(_reason(event), event) for event in outcome.events if event.level == "update"]
    print_table("Updates", ("why", "updates"), Counter(why for why, _ in updates).most_common())
    for report in (special_report(event) for why, event in updates if why == "development"):
        print(f"- {report['headline']}: {report['lead']}")


def _delay(event: StoryEvent) -> str:
    """Return why an alarm did not ring when the fifth source printed the story."""
    story = event.story
    if people_harmed(story):
        return "none: people harmed" if len(story.sources) < 5 else "a toll came late"
    five = story.source_languages[:5]
    if len(story.sources) <= 5 or event.time <= story.sources[4]:
        return "none"
    if MANY_FIGURES in five:
        return "many figures"
    if len(set(five)) > 1 and min(Counter(five).values()) == 1:
        return "alone in its language"
    if story.sources[4] - story.sources[0] >= BURST_SPAN:
        return "five sources took longer"
    return "no burst"


def _reason(event: StoryEvent) -> str:
    before = event.story.signalled
    if event.story.developments > before.developments:
        return "development"
    return "ledger" if event.story.ledger.changed > before.states else "doubled"


def report_labels(outcome: Outcome) -> None:
    labels = _labels()
    rows = []
    for half in ("both", *HALVES):
        chosen = [event for event in _alarms(outcome) if half in ("both", half_of(event.members[0].url))]
        found = [_label(event.members, outcome, labels) for event in chosen]
        counts = Counter(each.get("label", "unread") for each in found)
        read = max(1, sum(counts[name] for name in ("worth", "maybe", "no")))
        wanted = [
            (event.time - event.story.sources[0]) / 60
            for event, label in zip(chosen, found, strict=True)
            if label.get("label") == "worth"
        ]
        large = [
            _is_raised(event.story, outcome)
            for event in outcome.last.values()
            if len(event.story.sources) >= LARGE
            and half in ("both", half_of(event.members[0].url))
            and _label(event.members, outcome, labels).get("label") in ("worth", "maybe")
        ]
        rows.append(
            (
                half,
                len(chosen),
                f"{counts['worth'] / read:.2f}",
                f"{counts['maybe'] / read:.2f}",
                f"{counts['no'] / read:.2f}",
                counts["unread"],
                f"{median(wanted):.0f}" if wanted else "-",
                _share(large),
            )
        )
    head = ("half", "alarms", "worth ringing", "maybe", "no", "unread", "minutes, median of worth")
    print_table("By the labels", (*head, f"watched stories with {LARGE} sources that ring"), rows)


def _is_raised(story: Story, outcome: Outcome) -> bool:
    return any(event.story.id in (story.id, *story.united) for event in _alarms(outcome))


def report_disasters(outcome: Outcome) -> None:
    alarms = [event for event in outcome.events if event.level in RINGING]
    rows, ringing = [], set[int]()
    found = 0
    for row in _read("disasters"):
        ids = {each for each in row["ids"] if each in outcome.times}
        firsts: dict[str, float] = {}
        for each in sorted(ids, key=lambda each: outcome.times[each]):
            firsts.setdefault(outcome.owners[each], outcome.times[each])
        second = sorted(firsts.values())[1]
        of_it = [n for n, event in enumerate(alarms) if ids & _told_by(event, outcome)]
        ringing.update(of_it)
        first = min((alarms[number].time for number in of_it), default=None)
        is_soon = first is not None and first <= second + SOON
        found += is_soon
        minutes = "-" if first is None else f"{(first - second) / 60:.0f}"
        rows.append((row["disaster"], len(firsts), minutes, is_soon))
    title = f"Disasters with 5 dead and more: {found} of {len(rows)} ring within 3 hours of the second source"
    print_table(title, ("disaster", "sources", "minutes after the second source", "soon"), rows)
    days = {int(each) // (24 * HOUR) for each in outcome.times.values()}
    others = sum(event.level == "breaking" and n not in ringing for n, event in enumerate(alarms))
    print(f"\nOther alarms a day: {others / len(days):.2f} ({others} in {len(days)} days)")


def _told_by(event: StoryEvent, outcome: Outcome) -> set[str]:
    """Return the documents that an alarm tells: all members, of an update the one that tipped it."""
    told = [event.item] if event.level == "update" else [each.id for each in event.members]
    return {outcome.ids.get(each or "", "") for each in told}


def _read(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (LABELS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]


def _labels() -> dict[str, dict[str, Any]]:
    return {row["id"]: row for row in _read("alarms")}


def _label(members: Iterable[Member], outcome: Outcome, labels: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return the label of the first member of a story that has one."""
    found = (labels.get(outcome.ids.get(member.id, "")) for member in members)
    return next(filter(None, found), {})


def _share(values: Sequence[bool]) -> str:
    return f"{sum(values) / len(values):.2f} of {len(values)}" if values else "-"


if __name__ == "__main__":
    main()
