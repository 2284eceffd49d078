"""Join documents to a story, and decide who may signal its levels, by the rules of ``join.lua`` and ``claim.lua``."""

from __future__ import annotations

from collections.abc import Container

from scrapy_neardup.document import Claim, Extent, Join, Neighbour
from scrapy_neardup.exceptions import StoreError
from scrapy_neardup.index.base import Selection
from scrapy_neardup.records.documents import KEY_BYTES, seconds_of
from scrapy_neardup.records.members import (
    NO_OWNER,
    number_member,
    owner_hash,
    pack_member,
    pack_neighbour,
    unpack_neighbours,
)
from scrapy_neardup.records.packing import split
from scrapy_neardup.records.stories import (
    BREAKING,
    ENDED,
    ITEM_BYTES,
    PRINTED_BYTES,
    SOURCE_BYTES,
    VALUE_BYTES,
    WATCH,
    StoryCounters,
    pack_extent,
    read_extent,
)

MOST_ITEM_TIMES = 512
"""How many of the newest items keep their times. More of them would tell a rule nothing new."""

MOST_SOURCES = 512
"""How many independent sources a story has at most. Further ones are not counted."""

MOST_MEMBERS_KEPT = 200
"""How many members are kept for the report. After these only the first member of each further source is kept."""

MOST_VALUES = 256
"""How many values of figures a story keeps. A story with more is a table, and its changes are not news."""

MOST_LANGUAGES = 16

MOST_NEIGHBOURS = 16
"""How many neighbours a story keeps: the first ones."""

MOST_GRANTS = 10_000
"""How many grants of a namespace and configuration wait for their confirmation. Further ones cannot be taken over."""

SETTLED = b"\xff" * 4
"""Stands for the owner of a value that several owners printed, or that was there before the change."""

NO_VALUE = bytes(VALUE_BYTES)


def count_join(counters: StoryCounters, join: Join, known: Container[str]) -> list[tuple[bytes, bytes]]:
    """Count a document into its story; into a new story count its first document too.

    Return the members to keep, packed, by document key. A document that is a member already changes nothing; ``known``
    has the ids of members that the caller knows of.
    """
    items = set(split(counters.items_seen, ITEM_BYTES))

    def is_member(document: str) -> bool:
        return document == join.story or document in known or bytes.fromhex(document) in items

    to_keep: list[tuple[bytes, bytes]] = []
    if is_member(join.member.id):
        return to_keep
    is_again = bool(join.registered_before) and is_member(join.registered_before)
    both = [(join.first, True), (join.member, join.counted and not is_again)]
    for member, counted in both[1:] if counters.joined else both:
        key, owner = bytes.fromhex(member.id), owner_hash(member)
        counters.joined += 1
        counters.last = max(counters.last, seconds_of(key))
        is_news = counted and _count_item(counters, key, owner, is_copy=member.status == "duplicate")
        if counted and member.language:
            _count_language(counters, member.language)
        if member is join.member:
            is_news |= _note_figures(counters, key, owner, join)
            _add_neighbour(counters, bytes.fromhex(join.story), pack_neighbour(join.neighbour))
        if counters.joined <= MOST_MEMBERS_KEPT or is_news:
            to_keep.append((key, number_member(counters.joined, pack_member(member))))
    return to_keep


def _count_item(counters: StoryCounters, key: bytes, owner: bytes, *, is_copy: bool) -> bool:
    """Count an item. Return whether its owner is new to the story."""
    counters.items += 1
    counters.copies += is_copy
    counters.items_seen = (counters.items_seen + key)[-MOST_ITEM_TIMES * ITEM_BYTES :]
    if owner == NO_OWNER:
        return False
    firsts = {entry[:4]: entry[4:] for entry in split(counters.sources, SOURCE_BYTES)}  # by owner
    is_new = owner not in firsts
    if is_new and len(firsts) >= MOST_SOURCES:
        return False
    firsts[owner] = min(key[:4], firsts.get(owner, key[:4]))
    counters.sources = b"".join(each + first for each, first in firsts.items())
    return is_new


def _count_language(counters: StoryCounters, language: str) -> None:
    items = counters.items_by_language
    if language in items or len(items) < MOST_LANGUAGES:
        items[language] = items.get(language, 0) + 1
        counters.languages = " ".join(f"{each} {count}" for each, count in items.items())


def _note_figures(counters: StoryCounters, key: bytes, owner: bytes, join: Join) -> bool:
    """Note the figures of a document. Return whether it is the first to print a value."""
    _confirm_changes(counters, owner, split(join.figures, VALUE_BYTES))
    for value in split(join.figures_before, VALUE_BYTES):
        _note_value(counters, value, SETTLED + key + b"\0")
    before = len(counters.printed)
    for number, value in enumerate(split(join.figures_after, VALUE_BYTES)):
        _note_value(counters, value, owner + key + bytes([number]))
    return len(counters.printed) > before


def _confirm_changes(counters: StoryCounters, owner: bytes, values: list[bytes]) -> None:
    """Confirm the changes that a second owner prints. If the first print has no owner, this owner becomes the first."""
    entries = split(counters.printed, PRINTED_BYTES)
    for number, entry in enumerate(entries):
        first = entry[4:8]
        if owner == NO_OWNER or first in (SETTLED, owner) or entry[:4] not in values:
            continue
        if first != NO_OWNER:
            counters.changes += entry[8:]
        entries[number] = entry[:4] + (owner if first == NO_OWNER else SETTLED) + entry[8:]
    counters.printed = b"".join(entries)


def _note_value(counters: StoryCounters, value: bytes, printed_by: bytes) -> None:
    known = (entry[:4] for entry in split(counters.printed, PRINTED_BYTES))
    if value != NO_VALUE and len(counters.printed) < MOST_VALUES * PRINTED_BYTES and value not in known:
        counters.printed += value + printed_by


def _add_neighbour(counters: StoryCounters, story: bytes, neighbour: bytes) -> None:
    """Keep a packed neighbour, unless it is the story itself or is kept already."""
    known = [bytes.fromhex(each.story) for each in unpack_neighbours(counters.neighbours)]
    if neighbour and neighbour[:KEY_BYTES] not in (story, *known) and len(known) < MOST_NEIGHBOURS:
        counters.neighbours += neighbour


def grant(counters: StoryCounters, claim: Claim) -> bool:
    """Decide whether a claim is granted. If it is, note the level and the extent that is signalled.

    ``watch`` is granted as the first level, ``breaking`` once, ``ended`` if the event is open and no newer source has
    joined, and ``update`` if the event is open and its extent warrants it. An event that ended as a ``watch``
    may still reach ``breaking``, and then ends again.
    """
    levels, signalled = counters.levels, read_extent(counters.signalled)
    if claim.level == "watch":
        granted, levels = levels == 0, WATCH
    elif claim.level == "breaking":
        granted, levels = not levels & BREAKING, WATCH | BREAKING
    elif claim.level == "update":
        granted = counters.is_open and claim.extent.warrants_update(signalled)
    else:
        granted, levels = counters.is_open and counters.newest_source <= claim.last_source, levels | ENDED
    if granted:
        counters.levels = levels
        if claim.level != "ended":
            counters.signalled = pack_extent(Extent(*map(max, signalled, claim.extent)))
    return granted


def remaining_neighbours(packed: bytes, selection: Selection, gone: Container[bytes]) -> bytes:
    """Return packed neighbours without those of the selection, and without stories whose first document is gone.

    Return nothing if the packed neighbours are damaged.
    """

    def remains(neighbour: Neighbour) -> bool:
        return bytes.fromhex(neighbour.story) not in gone and not selection.takes_neighbour(neighbour)

    try:
        return b"".join(map(pack_neighbour, filter(remains, unpack_neighbours(packed))))
    except StoreError:
        return b""
