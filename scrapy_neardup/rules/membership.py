"""Join documents to a story, unite stories, and decide who may signal their levels: the rules of all stores.

They change the counters that they are given, and read and write nothing else.
"""

import re
from collections import Counter
from collections.abc import Container, Iterable
from dataclasses import replace

from scrapy_neardup.document import HOUR, Document
from scrapy_neardup.evidence.figures.counted import FigureKind
from scrapy_neardup.evidence.figures.tolls import harm_of_head, tolls_of
from scrapy_neardup.evidence.lead import find_lead
from scrapy_neardup.evidence.news import new_terms
from scrapy_neardup.evidence.sources import country_of
from scrapy_neardup.records.documents import StoredText, seconds_of
from scrapy_neardup.records.packing import split
from scrapy_neardup.records.stories import (
    BREAKING,
    ENDED,
    HARM,
    ITEM_BYTES,
    MUTED,
    NO_OWNER,
    SOURCE_BYTES,
    TELLING_BYTES,
    WATCH,
    StoryCounters,
    owner_hash,
    pack_extent,
    pack_member,
    packed_code,
    read_extent,
    read_sources,
)
from scrapy_neardup.rules.ledger import note, unite_ledgers, update_states
from scrapy_neardup.story import MANY_FIGURES, Claim, Extent, Join, Ledger, Member

# How many of the newest items keep their times. More of them would tell a rule nothing new.
MOST_ITEM_TIMES = 512

# How many independent sources a story has at most. Further ones are not counted.
MOST_SOURCES = 512

# How many members are kept for the report. After these only the first member of each further source is kept.
MOST_MEMBERS_KEPT = 200

# So many members are kept too because they changed a state of the ledger.
MOST_STATES_KEPT = 256

# Of so many members those are kept too that tell news.
MOST_NEWS_KEPT = 1000

# How many stories may become a part of one story.
MOST_UNITED = 64

PEOPLE_HARMED = frozenset((FigureKind.DEAD, FigureKind.INJURED, FigureKind.MISSING))

# How many times a story is followed to the one that it became a part of.
MOST_FOLLOWED = MOST_UNITED + 1

_BEGINNING = 200  # characters of a text in which its news begins
_OPENING = 50  # characters of a sentence that must be in them
# "the 6 deaths", but not "the 6 people on board"
_TOLD_BEFORE = re.compile(
    r"(?<!\w)(?:the|these|die|diese|les|ces|los|estos|os|i) ([0-9]+)"
    r" (?:deaths|fatalities|toten|morts|muertos|mortos|morti)(?!\w)"
)

# A development: three owners tell the same new terms in title and first characters of the text. In the first minutes
# all tell the same news in other words.
_SHARED_TERMS = 4
_TERMS = 16
_LEAD = 300
_FIRST_TERMS = 64  # with those of the story's first lead, which stay
_MOST_TERMS = 512  # the newest others


def count_join(
    counters: StoryCounters,
    ledger: Ledger,
    join: Join,
    known: Container[str],
    first_text: StoredText | None = None,
    story: str = "",
) -> list[tuple[bytes, bytes]]:
    """Count a document into the counters of its story; into those of a new story count its first document too.

    This changes ``counters`` and ``ledger``, and nothing else. Return the members to keep, packed, by document key. A
    document that is a member already changes nothing; ``known`` has the ids of members that the caller knows of.
    ``first_text`` is the text of the first document of a new story. ``story`` is the story that the join's own story
    became a part of.
    """
    member = join.member
    members = {entry[4:].hex() for entry in split(counters.items_seen, ITEM_BYTES)} | {story or join.story}
    if member.id in members or member.id in known:
        return []
    is_again = join.earlier_of_page in members or join.earlier_of_page in known
    to_keep = [] if counters.joined else begin_story(counters, ledger, join.first, first_text)
    counters.joined += 1
    counters.last = max(counters.last, member.seen_at)
    is_counted = join.is_coverage and not is_again
    is_news = is_counted and _count_item(counters, member, join.time)
    if join.document is not None and (join.is_coverage or member.status != "related"):
        _note_figures(counters, ledger, member, join.document, join.printed_at)
        has_new_state = update_states(ledger, len(counters.sources) // SOURCE_BYTES)
        is_news |= has_new_state and ledger.changed <= MOST_STATES_KEPT
    if join.document is not None:
        _note_lead(counters, join, join.document, is_counted=is_counted)
    is_news |= bool(member.news) and counters.joined <= MOST_NEWS_KEPT
    if counters.joined <= MOST_MEMBERS_KEPT or is_news:
        packed = pack_member(replace(member, is_counted=is_counted, number=counters.joined))
        to_keep.append((bytes.fromhex(member.id), packed))
    return to_keep


def begin_story(
    counters: StoryCounters, ledger: Ledger, first: Member, text: StoredText | None = None
) -> list[tuple[bytes, bytes]]:
    """Count the first document into a new story. Return the members to keep, packed, by document key.

    The news of the first document is its lead.
    """
    if text is not None:
        lead = find_lead(text.title, text.text)
        first = replace(first, news=(lead,) if lead else ())
        _note_figures(counters, ledger, first, text, first.seen_at)
        counters.leads = b"".join(_terms_of_lead(text, first.language))
    counters.joined = 1
    counters.last = first.seen_at
    _count_item(counters, first, first.seen_at if first.counted_at is None else first.counted_at)
    return [(bytes.fromhex(first.id), pack_member(replace(first, number=1)))]


def unite(
    keys: tuple[bytes, bytes],
    stays: StoryCounters,
    moves: StoryCounters,
    ledgers: tuple[Ledger, Ledger],
    moving: Iterable[Member],
) -> list[tuple[bytes, bytes]]:
    """Add the counters of a story that moves to those of the story that stays; ``keys`` are their keys.

    This changes both counters and both ``ledgers``, and nothing else.
    ``moving`` are the members of the story that moves. Return those that the other story keeps, packed, by document
    key. An event that runs in one of the two stories goes on.
    """
    key_stays, key_moves = keys
    # Items by their document keys: an item may be in both stories.
    own_items, more_items = (
        {entry[4:]: entry for entry in split(counters.items_seen, ITEM_BYTES)} for counters in (stays, moves)
    )
    is_open = stays.is_open or moves.is_open
    joined_before = stays.joined
    owners_before = {entry[:4] for entry in split(stays.sources, SOURCE_BYTES)}
    stays.joined += moves.joined
    stays.items += moves.items - len(own_items.keys() & more_items)
    stays.copies += moves.copies
    stays.levels |= moves.levels
    if is_open:
        stays.levels &= ~ENDED
    stays.last = max(stays.last, moves.last)
    stays.items_seen = b"".join(sorted((more_items | own_items).values())[-MOST_ITEM_TIMES:])
    for entry in split(moves.sources, SOURCE_BYTES):
        _note_source(stays, entry)
    unite_ledgers(*ledgers, len(stays.sources) // SOURCE_BYTES)
    stays.developments = max(stays.developments, moves.developments)
    signalled = Extent(*map(max, read_extent(stays.signalled), read_extent(moves.signalled)))
    if not is_open:
        # What both stories told before they ended is nothing new.
        signalled = Extent(*map(max, signalled, Extent(0, 0, ledgers[0].changed, stays.developments)))
    stays.signalled = pack_extent(signalled)
    # The terms of the first lead stay in front, two bytes each; the newest of all others follow.
    stays.leads = stays.leads[: 2 * _FIRST_TERMS] + (moves.leads + stays.leads[2 * _FIRST_TERMS :])[-2 * _MOST_TERMS :]
    stays.united += key_moves + moves.united
    moves.moved = key_stays
    return [
        (bytes.fromhex(member.id), pack_member(replace(member, number=joined_before + member.number)))
        for member in moving
        if joined_before + member.number <= MOST_MEMBERS_KEPT or owner_hash(member.owner) not in owners_before
    ]


def _count_item(counters: StoryCounters, member: Member, at: int) -> bool:
    """Count an item that counts at this second. Return whether its owner is new to the story."""
    owner = owner_hash(member.owner)
    second = at.to_bytes(4, "big")
    language = member.language
    if member.has_many_figures:
        language = MANY_FIGURES
    elif member.status == "duplicate":
        language = language.upper()
    counters.items += 1
    counters.copies += member.status == "duplicate"
    items = split(counters.items_seen + second + bytes.fromhex(member.id), ITEM_BYTES)
    counters.items_seen = b"".join(items if len(items) <= MOST_ITEM_TIMES else sorted(items)[1:])
    return owner != NO_OWNER and _note_source(
        counters,
        owner + second + packed_code(language) + packed_code(country_of(member.source)) + owner_hash(member.publisher),
    )


def _note_source(counters: StoryCounters, source: bytes) -> bool:
    """Note an item of an owner, as an entry of ``sources``. Return whether owner and publisher are new to the story.

    An entry has the owner in ``[:4]``, the second of its first item in ``[4:8]``, language and country in ``[8:12]``,
    and the publisher in ``[12:]``. An earlier item of a known owner moves the entry back in time.
    """
    names_by_entry = {entry: {entry[:4], entry[12:]} - {NO_OWNER} for entry in split(counters.sources, SOURCE_BYTES)}
    own_names = {source[:4], source[12:]} - {NO_OWNER}
    known = next((entry for entry, names in names_by_entry.items() if own_names & names), None)
    if known is None and len(names_by_entry) >= MOST_SOURCES:
        return False
    if known is None or source[4:8] < known[4:8]:
        earlier = (entry[:4] + source[4:12] + entry[12:] if entry == known else entry for entry in names_by_entry)
        counters.sources = b"".join((*earlier, source if known is None else b""))
    return known is None


def _note_figures(
    counters: StoryCounters, ledger: Ledger, member: Member, text: Document | StoredText, time: int
) -> None:
    """Note the figures of a document, unless nobody knows who prints it, and whether it begins with people harmed."""
    owner = owner_hash(member.owner)
    if owner == NO_OWNER:
        return
    tolls = tolls_of(text.title, text.text, member.language)
    note(ledger, tolls, owner, bytes.fromhex(member.id), time)
    beginning = f"{text.title}\n{text.text.removeprefix(text.title)[:_BEGINNING]}"  # many pages print the title again
    harmed = [toll for toll in tolls if toll.kind in PEOPLE_HARMED]
    told = [(int(toll.low), toll.text) for toll in harmed if toll.text[:_OPENING] in beginning]
    if harmed:  # "100 people feared dead" is no toll, but begins with harm if a number of people is told below
        fears = harm_of_head(text.title, "", member.language)
        told += [(value, text.title) for kind, value in fears if kind in PEOPLE_HARMED]
    if not all(str(value) in _TOLD_BEFORE.findall(sentence.casefold()) for value, sentence in told):
        counters.levels |= HARM


def _note_lead(counters: StoryCounters, join: Join, text: Document, *, is_counted: bool) -> None:
    """Note what a document tells in title and first lines. Count a development if enough owners tell it.

    In the first minutes, and in other languages than the commonest, all tell the same news in other terms.

    What an owner tells that no lead has told waits in ``telling``: an entry has a second in ``[:4]``, the owner in
    ``[4:8]`` and the terms in ``[8:]``. After two hours, or as a development, its terms count as told.
    """
    lead = _terms_of_lead(text, join.language)
    telling = split(counters.telling, TELLING_BYTES)
    recent = [entry for entry in telling if join.time < seconds_of(entry[:4]) + 2 * HOUR]
    old = b"".join(entry[8:] for entry in telling if entry not in recent)
    known = dict.fromkeys(split(counters.leads + old, 2))
    new = [term for term in lead if term not in known]
    is_report = (
        is_counted
        and join.member.status != "duplicate"
        and join.member.owner
        and counters.levels & (WATCH | BREAKING)
        and len(new) >= _SHARED_TERMS
    )
    sources = read_sources(counters.sources) if is_report else ()
    commonest = Counter(language.lower() for _, _, language in sources).most_common(1)
    if sources and join.time >= sources[0][0] + 40 * 60 and commonest[0][0] == join.member.language:
        # An entry of ``telling`` has a fixed size, so few terms are repeated.
        recent.append(join.time.to_bytes(4, "big") + owner_hash(join.member.owner) + b"".join((new * _TERMS)[:_TERMS]))
        new = []
        if _tell_development(recent, lead):
            counters.developments += 1
            new = [*split(b"".join(entry[8:] for entry in recent), 2)]
            recent = []
    counters.telling = b"".join(recent[-(_MOST_TERMS // _TERMS) :])
    terms = [*known, *new]
    counters.leads = b"".join(terms[:_FIRST_TERMS] + terms[_FIRST_TERMS:][-_MOST_TERMS:])


def _tell_development(telling: list[bytes], lead: list[bytes]) -> bool:
    owners_of = Counter(term for _, term in {(each[4:8], term) for each in telling for term in split(each[8:], 2)})
    return sum(owners_of[term] >= 3 for term in lead) >= _SHARED_TERMS


def _terms_of_lead(text: Document | StoredText, language: str) -> list[bytes]:
    """Return the hashes of the terms of title and first lines."""
    lead = f"{text.title} {text.text[:_LEAD]}".replace("\n", " ")
    return [term.to_bytes(2, "big") for term in new_terms(lead, (), language)]


def grant(counters: StoryCounters, claim: Claim) -> bool:
    """Decide whether a claim is granted. If it is, note the level and the extent that is signalled.

    ``watch`` is granted as the first level, ``breaking`` once, ``ended`` if the event is open and no newer source has
    joined, and ``update`` if its extent warrants it and the event is open, or has a new state or development. By this,
    and by ``breaking`` after a ``watch``, an event that has ended is open again. Of a story that is muted only
    ``ended`` is granted.
    """
    marks = counters.levels & (MUTED | HARM)
    levels = counters.levels & ~marks
    signalled = read_extent(counters.signalled)
    if marks & MUTED and claim.level != "ended":
        return False
    if claim.level == "watch":
        granted = levels == 0
        levels = WATCH
    elif claim.level == "breaking":
        granted = not levels & BREAKING
        levels = WATCH | BREAKING
    elif claim.level == "update":
        goes_on = 0 < levels < ENDED or claim.extent.has_news_since(signalled)
        granted = levels > 0 and goes_on and claim.extent.warrants_update(signalled)
        levels &= ~ENDED
    else:
        granted = counters.is_open and counters.newest_source <= claim.last_source
        levels |= ENDED
    if granted:
        counters.levels = levels | marks
        if claim.level != "ended":
            counters.signalled = pack_extent(Extent(*map(max, signalled, claim.extent)))
    return granted
