"""Score links and stories of real pages by the labels of people who read them; used by stories.py.

The labels are in labels/stories.jsonl (pairs of pages) and labels/story-members.jsonl (events of pages).
"""

from __future__ import annotations

from bisect import bisect
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

import xxhash
from shared import print_table, read_labels

from scrapy_neardup.evidence.sources import source_of
from scrapy_neardup.tools.lab.replay import RecordedPage

NAMES = ("same", "other", "unsure")
BANDS = (0.26, 0.3, 0.35, 0.4, 0.5)
DRAWN = 100  # links that are drawn at random
_FEWEST = 5  # with fewer labels no precision is printed
Labels = dict[frozenset[str], str]


class Link(NamedTuple):
    """A related page and its match. ``topic`` is the score of the topics, 0 if the texts are alike."""

    page: RecordedPage
    match: RecordedPage
    topic: float

    @property
    def pair(self) -> frozenset[str]:
        return frozenset((str(self.page.recorded.id), str(self.match.recorded.id)))

    @property
    def language(self) -> str:
        one, other = (str(page.recorded.extra.get("lang") or "unknown") for page in (self.page, self.match))
        return one if one == other else "two languages"

    @property
    def sites(self) -> str:
        one, other = (source_of(page.recorded.url) for page in (self.page, self.match))
        return "within one source" if one == other else "across sources"

    @property
    def band(self) -> str:
        if not self.topic:
            return "text"
        place = bisect(BANDS, self.topic)
        return f"topic from {BANDS[place - 1]}" if place else "topic below"

    @property
    def place_in_draw(self) -> int:
        """Return a random number that is the same in every run, so that labels of drawn links can be used again."""
        return xxhash.xxh64_intdigest(" ".join(sorted(self.pair)).encode())

    @property
    def stratum(self) -> tuple[str, str]:
        return self.band, self.sites


def read_pairs(name: str = "stories") -> Labels:
    """Return the label of each pair, "unsure" if two readers do not agree."""
    return {frozenset((row["a"], row["b"])): row.get("label") or _agreed(row) for row in read_labels(name)}


def _agreed(row: dict[str, Any]) -> str:
    """Return the label that two readers gave. To one of them another event may be one of the same theme."""
    same = [row[reader] == "same" for reader in ("first", "second")]
    if all(same):
        return "same"
    return "unsure" if any(same) else "other"


def report_links(links: Sequence[Link]) -> None:
    """Print how many of the drawn links are right, and how many of all links.

    Links of one band of scores stand for each other: the share of right ones among the labelled links is applied to
    all links of the band. So it does no harm that more of the weak links have a label.
    """
    labels = read_pairs()
    drawn = sorted(links, key=lambda link: link.place_in_draw)[:DRAWN]
    counts = Counter(labels.get(link.pair, "unread") for link in drawn)
    title = f"{DRAWN} links of real pages at their real times, drawn at random; asked: at least 90 same"
    print_table(title, (*NAMES, "unread"), [tuple(counts[each] for each in (*NAMES, "unread"))])
    rows = []
    groups: list[Callable[[Link], str]] = [lambda link: "all", *map(attrgetter, ("band", "sites", "language"))]
    for group_of in groups:
        members = defaultdict[str, list[Link]](list)
        for link in links:
            members[group_of(link)].append(link)
        for name, chosen in sorted(members.items(), key=lambda item: -len(item[1])):
            counts = Counter(labels[link.pair] for link in chosen if link.pair in labels)
            rows.append((name, len(chosen), *(counts[each] for each in NAMES), _precision(chosen, links, labels)))
    title = f"All {len(links)} links, by the labels that there are"
    print_table(title, ("", "links", *NAMES, "precision"), rows)


def _precision(chosen: Sequence[Link], links: Sequence[Link], labels: Labels) -> str:
    """Return the precision of the chosen links, estimated from labelled links of the same bands.

    If no chosen link of a band has a label, the labels of all links of the band are used.
    """
    decided, of_all = _decided(chosen, labels), _decided(links, labels)
    if sum(map(Counter.total, decided.values())) < _FEWEST:
        return "-"
    right = total = 0.0
    for stratum, count in Counter(link.stratum for link in chosen).items():
        found = decided[stratum] or of_all[stratum]
        if found:
            right += count * found["same"] / found.total()
            total += count
    return f"{right / total:.3f}" if total else "-"


def _decided(links: Sequence[Link], labels: Labels) -> dict[tuple[str, str], Counter[str]]:
    found = defaultdict[tuple[str, str], Counter[str]](Counter)
    for link in links:
        label = labels.get(link.pair)
        if label in ("same", "other"):
            found[link.stratum][label] += 1
    return found


def report_pairs(stories: Sequence[Sequence[RecordedPage]]) -> None:
    """Print how many of the labelled pairs are in one story, whatever links brought them there."""
    place = {str(page.recorded.id): number for number, pages in enumerate(stories) for page in pages}
    rows = []
    for name in ("stories", "two-languages", "two-languages.second"):
        pairs = [(label, {place.get(each) for each in pair}) for pair, label in read_pairs(name).items()]
        counts = Counter((label, len(found) == 1) for label, found in pairs if None not in found)
        right, wrong, missed = counts["same", True], counts["other", True], counts["same", False]
        precision, recall = (right / max(1, right + others) for others in (wrong, missed))
        rows.append((name, right, wrong, missed, f"{precision:.3f}", f"{recall:.3f}"))
    print_table("Labelled pairs in one story", ("", "right", "wrong", "missed", "precision", "recall"), rows)


def report_stories(stories: Sequence[Sequence[RecordedPage]]) -> None:
    """Print how many of the stories are about one event, and which are not."""
    events = {row["id"]: row["event"] for row in read_labels("story-members")}
    counts = Counter[str]()
    mixed = []
    for members in sorted(stories, key=len, reverse=True):
        judgement, named = _judgement([events.get(str(page.recorded.id), "") for page in members])
        counts[judgement] += 1
        if judgement == "two":
            mixed.append(f"- {len(members)} pages: " + ", ".join(f"{count} {name}" for name, count in named))
    title = f"Stories of real pages with 4 or more sources: {len(stories)}, asked: at most 1 in 10 is two events"
    share = counts["two"] / max(1, counts["one"] + counts["two"])
    head = ("one event", "two or more", "unread", "share of two or more")
    print_table(title, head, [(counts["one"], counts["two"], counts["unread"], f"{share:.3f}")])
    print("\n".join(mixed))


def _judgement(events: Sequence[str | None]) -> tuple[str, list[tuple[str, int]]]:
    """Return "one", "two" or "unread", and the events with their numbers of pages.

    A story is two events if two pages of another event are in it, or if a fifth of its pages belong elsewhere. A page
    of which the reader was not sure (None) counts for neither. A story is unread if a third of its pages have no label.
    """
    counts = Counter(event for event in events if event)
    if 3 * sum(event == "" for event in events) >= len(events):
        return "unread", []
    (_, largest), *others = counts.most_common() or [("", 0)]
    strangers = counts.total() - largest
    is_two = any(count > 1 for _, count in others) or (strangers > 0 and 5 * strangers >= len(events))
    return ("two" if is_two else "one"), counts.most_common()


def report_large_events(stories: Sequence[tuple[Sequence[RecordedPage], bool]]) -> None:
    """Print how many sources of each event that a reader found are in one story, and whether it was raised.

    ``stories`` are members, and whether an event was raised of the story.
    """
    event_of = {row["id"]: row["event"] for row in read_labels("large-events")}
    together = defaultdict[str, list[set[str]]](list)
    alarms = set[str]()
    for members, is_raised in stories:
        found = defaultdict[str, set[str]](set)
        for page in members:
            if event := event_of.get(str(page.recorded.id)):
                found[event].add(source_of(page.recorded.url))
        for event, sources in found.items():
            together[event].append(sources)
            alarms.update({event} if is_raised else ())
    table = [
        (event, len(set().union(*parts)), max(map(len, parts)), event in alarms) for event, parts in together.items()
    ]
    halves = sum(2 * most >= count for _, count, most, _ in table)
    title = f"Large events found by reading: {halves} of {len(table)} have half of their sources in one story"
    head = ("event", "sources", "in one story", "raised")
    print_table(f"{title}; {len(alarms)} were raised", head, sorted(table, key=lambda row: (-row[1], row[0])))
    print(f"\nStories that were raised: {sum(is_raised for _, is_raised in stories)}")
