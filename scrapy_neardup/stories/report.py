"""The special report: an event as plain data, in the form that ``docs/event.schema.json`` describes."""

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime, timezone, tzinfo
from typing import Any

from scrapy_neardup.document import HOUR
from scrapy_neardup.evidence.figures.figure import counted_figures, find_figures
from scrapy_neardup.evidence.lead import is_background, tells_headline
from scrapy_neardup.evidence.titles import terms_of
from scrapy_neardup.rules.ledger import newest_of_owners
from scrapy_neardup.stories.event import SpecialReport, StoryEvent
from scrapy_neardup.stories.rules import COUNT_SPAN, most_within
from scrapy_neardup.stories.summary import Fact, facts_of, headline_of, sentence_of, states_of, unconfirmed
from scrapy_neardup.story import Member, Story

TEN_MINUTES = 600


def special_report(
    event: StoryEvent, name: Callable[[str], str | int] = str, zone: tzinfo = timezone.utc
) -> SpecialReport:
    """Return the report of an event, ready for JSON. ``name`` turns document ids into the ids that readers know.

    ``zone`` is the time zone of texts for people. All other times are in UTC.
    """
    members = sorted(event.members, key=lambda member: (member.seen_at, member.number))
    story = event.story
    signalled = story.ledger.changed if event.level == "ended" else story.signalled.states
    states = list(states_of(story.ledger, members, signalled))
    facts = facts_of(states, is_update=event.level == "update")
    claim = unconfirmed(story.ledger, members)
    first_fact = claim or next(iter(facts), None)
    told = _numbers_told(event, first_fact, is_state=claim is None)
    headline = headline_of(event.members, {fact.old for fact in facts}, told)
    return {
        "version": 1,  # of this form
        "id": event.id,
        "level": event.level,
        "story": name(story.id),
        "is_muted": story.is_muted,
        "time": iso(event.time),
        "rule": event.rule,
        "item": None if event.item is None else name(event.item),
        "headline": headline,
        **_lead(event, members, headline),
        "facts": [
            {
                **_change(fact),
                "words": fact.words,
                "is_new": fact.is_new,
                "sources": fact.papers,
                "against": [{"value": value, "sources": sources} for value, sources in fact.against.items()],
            }
            for fact in facts
        ],
        "summary": sentence_of(first_fact, event.time, zone, is_state=claim is None) if first_fact else "",
        "section": event.section,
        "timezone": str(zone),
        "url": event.members[0].url if members else "",
        "first": _place(members[0]) if members else None,
        "newest": _place(max(event.members, key=lambda member: member.number)) if members else None,
        "update": _update(event, states) if event.level == "update" else None,
        "items": story.items,
        "copies": story.copies,
        "measures": _measures(event),
        "languages": [{"language": each, "items": items} for each, items in languages_of(members).items()],
        "sources": _sources(members),
        "growth": _growth(story),
        "members": [_member(member, states, name) for member in members],
        "figures": list(map(_change, states)),
        "united": list(map(name, story.united)),
    }


def _numbers_told(event: StoryEvent, fact: Fact | None, *, is_state: bool) -> set[str]:
    """Return the numbers that titles should tell: that with which the message leads, if a page begins with harm.

    In an event of many sources one of them is not enough. With fewer it was raised because people were harmed, and any
    number that a source prints is one.
    """
    story = event.story
    if fact is None or not story.begins_with_harm or not (is_state or len(story.sources) < event.breaking_over):
        return set()
    told = newest_of_owners(story.ledger, fact.state.kind)
    return {f"{each.low:.0f}" for each in told if not is_state or each.low == fact.state.low}


def _member(member: Member, states: Sequence[Fact], name: Callable[[str], str | int]) -> dict[str, Any]:
    """Return a step of the story: a document, its news, and the states that it was the first to print."""
    return {
        "id": name(member.id),
        **_place(member),
        "title": member.title,
        "status": member.status,
        "kind": member.kind,
        "language": member.language,
        "why": why_joined(member),
        "topic": round(member.topic, 2),
        "terms": list(member.terms),
        "news": list(member.news),
        "words": [state.words for state in states if state.state.document.hex() == member.id],
    }


def _measures(event: StoryEvent) -> dict[str, int]:
    """Return the numbers that the rules look at, the sites of the sources, and how many sources have only copies."""
    story = event.story
    counting = [each for each in event.members if each.is_counted]
    own = {each.owner for each in counting if each.status != "duplicate"}
    return {
        "sources": len(story.sources),
        "sites": len({each.source for each in counting if each.source}),
        "sources_with_copies": len({each.owner for each in counting} - own - {""}),
        "new_sources_in_an_hour": most_within(story.sources, HOUR, event.time),
        "items_in_4_hours": most_within(story.times, COUNT_SPAN, event.time),
        "breaking_over": event.breaking_over,
    }


def _lead(event: StoryEvent, members: Sequence[Member], headline: str) -> dict[str, Any]:
    """Return a sentence that tells the news, and the page that has it.

    ``_leads_of`` has the sentences. Of several the best one tells the headline, is in its language, and has a figure of
    it. Then the terms count that a sentence shares with the headline, and with titles and leads of the other owners, up
    to twice if the title of its page agrees with the headline. Then the newest page counts.
    """
    item = next((member for member in members if member.id == event.item), None)
    if item is None:
        return {"lead": "", "lead_from": None}
    with_headline = [member for member in members if headline in member.title] or [item]
    languages = {member.language for member in with_headline}
    headline_terms = terms_of(headline) or {0}
    terms_by_owner = {member.owner: terms_of(f"{member.title} {member.lead}") for member in members}
    figures = counted_figures(find_figures(headline))

    def rank(row: tuple[str, Member]) -> tuple[bool, bool, bool, float, int]:
        sentence, member = row
        terms = terms_of(sentence)
        with_others = sum(len(terms & each) for owner, each in terms_by_owner.items() if owner != member.owner)
        shared = len(terms & headline_terms) + with_others / len(terms_by_owner)
        shared *= 1 + len(headline_terms & terms_of(member.title)) / len(headline_terms)
        return (
            _tells(headline, sentence),
            member.language in languages,
            not figures.isdisjoint(find_figures(sentence)),
            shared / (20 + len(terms)),  # the terms of a much longer sentence are worth less
            member.number,
        )

    lead, page = max(_leads_of(event, item, members, headline), key=rank, default=(headline, with_headline[0]))
    return {"lead": lead, "lead_from": {**_place(page), "language": page.language}}


def _leads_of(event: StoryEvent, item: Member, members: Sequence[Member], headline: str) -> list[tuple[str, Member]]:
    """Return what is new in an update, or else the sentences that tell the headline, or else other titles that do."""
    if event.level == "update":
        # Its news is that of the document that tipped it, if it is about the story, as that of each version of a page
        # is. The news of a development is the lead.
        if item.lead and event.story.developments > event.story.signalled.developments:
            return [(item.lead, item)]
        of_titles = terms_of(f"{headline} {item.title}")
        least = 2 if item.status == "related" else 0
        if news := [(sentence, item) for sentence in item.news if len(terms_of(sentence) & of_titles) >= least]:
            return news
    said = ((sentence, member) for member in members for sentence in (member.lead, *member.news[:1]))
    titles = ((member.title, member) for member in members if member.title != headline)
    return [row for row in said if _tells(headline, row[0])] or [row for row in titles if _tells(headline, row[0])]


def _tells(headline: str, sentence: str) -> bool:
    return tells_headline(headline, sentence) and not is_background(sentence)


def iso(second: int) -> str:
    """Return Unix seconds as ISO 8601 in UTC."""
    return datetime.fromtimestamp(second, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def _place(member: Member) -> dict[str, Any]:
    return {"time": iso(member.seen_at), "source": member.source, "url": member.url}


def why_joined(member: Member) -> str:
    """Say why a document joined its story: "copy", "update", "similar text" or "topic 0.43: budget, senate, veto".

    Return "" for a document that joined nothing, such as the first one.
    """
    if member.topic:
        return f"topic {member.topic:.2f}" + (f": {', '.join(member.terms)}" if member.terms else "")
    return {"duplicate": "copy", "update": "update", "related": "similar text"}.get(member.status, "")


def _update(event: StoryEvent, states: Sequence[Fact]) -> dict[str, Any]:
    """Return the counts at the previous signal, and the states that are new since then."""
    before = event.story.signalled
    level = "breaking" if "breaking" in event.story.levels else "watch"
    return {
        "level": level,
        "items_before": before.items,
        "sources_before": before.sources,
        "figures": [_change(state) for state in states if state.is_new],
    }


def languages_of(members: Sequence[Member]) -> dict[str, int]:
    """Return the languages of the members that count, each with its number of items, the commonest first."""
    return dict(Counter(each.language for each in members if each.is_counted and each.language).most_common())


def _sources(members: Sequence[Member]) -> list[dict[str, Any]]:
    by_owner: dict[str, list[Member]] = {}
    for member in members:
        if member.owner and member.is_counted:
            by_owner.setdefault(member.owner, []).append(member)
    return [{"owner": owner, **_place(own[0]), "items": len(own)} for owner, own in by_owner.items()]


def _growth(story: Story) -> list[dict[str, Any]]:
    items = Counter(time // TEN_MINUTES * TEN_MINUTES for time in story.times)
    new = Counter(time // TEN_MINUTES * TEN_MINUTES for time in story.sources)
    return [{"time": iso(slot), "items": items[slot], "new_sources": new[slot]} for slot in sorted(items | new)]


def _change(fact: Fact) -> dict[str, Any]:
    """Return a state with the first page that prints it; without one if the story does not keep it."""
    place = {"time": iso(fact.state.time), "source": "", "url": ""}
    known = fact.first or next(iter(fact.supporters), None)
    return {**(_place(known) if known else place), "figure": fact.label, "old": fact.old, "new": fact.state.words}
