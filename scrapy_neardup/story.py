"""The plain data of stories: members, counters, and the levels that an event may claim. Nothing here does I/O."""

from dataclasses import dataclass, field
from typing import Literal, NamedTuple, get_args

from scrapy_neardup.document import Document, Kind, Status

Level = Literal["watch", "breaking", "update", "ended"]
# Stores keep the places of levels in this tuple: add new ones at the end.
LEVELS: tuple[Level, ...] = get_args(Level)


@dataclass(frozen=True, slots=True)
class Member:
    """The data that a story keeps of one of its documents.

    ``topic`` is the score of its topic if it joined only by its topic, else 0. ``terms`` are the heaviest terms that it
    then shares with its match, as words of its own; a few at most.

    ``number`` counts the members from 1, in the order in which they joined. The times of the documents do not matter.
    It is 0 before the document has joined.
    """

    id: str
    url: str
    title: str
    source: str  # "" if there is none
    owner: str  # who runs the source; sources of one owner count once
    status: Status
    kind: Kind | None = None
    changes: tuple[str, ...] = ()
    news: tuple[str, ...] = ()  # sentences that tell what the story did not; of its first document, the lead
    lead: str = ""  # see ``evidence.lead``; of the first document and of equal texts it is ""
    language: str = ""
    topic: float = 0.0
    terms: tuple[str, ...] = ()
    number: int = 0
    is_counted: bool = True  # False if it is listed only, and counts neither as an item nor as a source
    counted_at: int | None = None  # of a story's first document: when it counts, None if that is ``seen_at``. Not kept
    section: str = ""  # see ``evidence.sections``
    publisher: str = ""  # sources with one publisher count once. Not kept
    has_many_figures: bool = False  # it is a result, a forecast or a price list, and counts less. Not kept

    @property
    def seen_at(self) -> int:
        """Return the time of the document in whole Unix seconds, UTC. The id of the document begins with it."""
        return int(self.id[:8], 16)


@dataclass(frozen=True, slots=True)
class Join:
    """A document that matched, and the first document of the story that it joins.

    ``is_coverage`` is False if the document does not count as a further item of the story. Two kinds of documents do
    not count: a page whose text changed, and a text that is similar only to a related text and has another topic than
    the first document. The changes of a changed page are still kept.

    The ledger of the story gets the figures of the ``document``, under the time at which it was printed.
    """

    first: Member
    member: Member
    is_coverage: bool = True
    also: Member | None = None  # the first document of another story that turned out to be the same one
    earlier_of_page: str = ""  # id of an earlier document of the page; if it is a member, this one is not counted
    counted_at: int | None = None  # when the document counts, in Unix seconds; None if that is the member's own time
    document: Document | None = field(default=None, repr=False, compare=False)  # for its figures and its lead
    language: str = ""  # in which the text of the document is written, as far as its record knows
    sentences: tuple[str, ...] = ()  # of the document, without those that the texts of its second look hold

    @property
    def story(self) -> str:
        """Return the id of the story. It is the id of its first document."""
        return self.first.id

    @property
    def time(self) -> int:
        """Return the time at which the document counts for events, in whole Unix seconds, UTC."""
        return self.member.seen_at if self.counted_at is None else self.counted_at

    @property
    def printed_at(self) -> int:
        """Return the time that the page gives, or when it counts if the clock of its source is known to be wrong."""
        return self.time if self.document and self.document.is_clock_wrong else self.member.seen_at


# The independent sources of an event, by time: Unix seconds of the first item, a hash of the owner, its language.
EventSources = tuple[tuple[int, bytes, str], ...]

# Stands for the language of a source whose first item has many figures, see ``rules/joining.py``.
MANY_FIGURES = "#"


Qualifier = Literal["exact", "at least", "about", "range"]
QUALIFIERS: tuple[Qualifier, ...] = get_args(Qualifier)
# The English word for each range that the tables of the languages give to a vague word.
VAGUE: dict[tuple[float, float], str] = {
    (20, 99): "dozens",
    (24, 99): "dozens",
    (200, 999): "hundreds",
    (1000, 9999): "thousands",
    (10000, 99999): "tens of thousands",
    (100000, 999999): "hundreds of thousands",
}


class PrintedFigure(NamedTuple):
    """What a document prints of a kind of figure, see ``evidence.figures.counted.FigureKind``.

    ``high`` is None if the value has no upper bound. A score has its two numbers in ``low`` and ``high``.
    """

    kind: int
    low: float
    high: float | None
    qualifier: Qualifier
    is_correction: bool  # whether the document says that it corrects an earlier value
    owner: bytes  # hash of the owner, 4 bytes
    document: bytes  # key of the document
    time: int  # of the document, in Unix seconds

    @property
    def value(self) -> tuple[float, float]:
        """Return what two values have in common that are the same number: "12" and "at least 12"."""
        if self.high is None:
            return self.low, self.low
        return self.low, self.high

    @property
    def words(self) -> str:
        """Return the value for people: "12", "at least 12", "40 to 50", "dozens", "2-1"."""
        low, high = self.value
        if word := VAGUE.get((low, high)):
            return word
        numbers = [f"{each:.2f}".rstrip("0").rstrip(".") for each in (low, high)]
        if self.qualifier == "exact":
            return "-".join(dict.fromkeys(numbers))  # two of a score
        if low == high:
            return f"{self.qualifier} {numbers[0]}"
        return " to ".join(numbers)


@dataclass(slots=True)
class Ledger:
    """The figures of a story, see ``rules/ledger.py``: what each owner printed, by time, and the states so far.

    A state is what the first page says that prints the value which counts. The last state of a kind counts now.
    ``changed`` counts all states, also those that are not kept.
    """

    printed: list[PrintedFigure] = field(default_factory=list)
    states: list[PrintedFigure] = field(default_factory=list)
    changed: int = 0

    @property
    def current(self) -> dict[int, PrintedFigure]:
        """Return the state of each kind that has one."""
        return {each.kind: each for each in self.states}

    def until(self, changed: int) -> "Ledger":
        """Return the ledger with the states that it had when there had been so many."""
        return Ledger(self.printed, self.states[: max(0, len(self.states) - (self.changed - changed))], changed)


class Extent(NamedTuple):
    """The size of a story: its items, its independent sources, the states of its ledger and its developments."""

    items: int = 0
    sources: int = 0
    states: int = 0  # of its ledger so far
    developments: int = 0  # see ``rules/membership.py``

    def warrants_update(self, signalled: "Extent") -> bool:
        """Return whether a running event has doubled since the extent ``signalled``, or has a new state or development.

        An event has doubled if its number of independent sources has doubled. If it had at most one source, its number
        of items must have doubled.
        """
        has_doubled = self.items >= 2 * signalled.items > 0
        if signalled.sources > 1:
            has_doubled = self.sources >= 2 * signalled.sources
        return has_doubled or self.has_news_since(signalled)

    def has_news_since(self, signalled: "Extent") -> bool:
        """Return whether there is a new state or development, which brings back an event that has ended."""
        return self.states > signalled.states or self.developments > signalled.developments


@dataclass(frozen=True, slots=True)
class Story:
    """The counters of a story, just after one of its documents joined."""

    id: str  # document id of its first document
    joined: int  # members so far, including pages that changed
    items: int
    copies: int  # items that are duplicates
    times: tuple[int, ...]  # Unix seconds of the newest items in ascending order
    sources: tuple[int, ...]  # Unix seconds of each independent source's first item in ascending order
    levels: tuple[Level, ...] = ()  # levels raised so far
    ledger: Ledger = field(default_factory=Ledger)
    signalled: Extent = Extent()  # the extent at the last signal
    united: tuple[str, ...] = ()  # ids of the stories that became a part of this one
    is_muted: bool = False  # nothing but its end is noted, and nobody is told
    # Of the first item of each of ``sources``, or ``MANY_FIGURES``; of a copy "EN".
    source_languages: tuple[str, ...] = ()
    countries: tuple[str, ...] = ()  # in whose domains its sources are, "" for one that is in none
    news: tuple[str, ...] = ()  # of the document that joined
    developments: int = 0  # that enough owners told while the event was running
    last: int = 0  # Unix seconds of its newest member
    begins_with_harm: bool = False  # a page of it has a number of people harmed in title or first sentence

    @property
    def extent(self) -> Extent:
        return Extent(self.items, len(self.sources), self.ledger.changed, self.developments)

    @property
    def is_running(self) -> bool:
        """Return whether the story is an event that has not ended, or has a new state or development since."""
        return bool(self.levels) and ("ended" not in self.levels or self.extent.has_news_since(self.signalled))


# Stands among the receivers of an event for the feed and the signals of the crawl itself.
CRAWL = bytes(4)


@dataclass(frozen=True, slots=True)
class Claim:
    """A request to raise a level of an event. The store grants each level to one claim only.

    ``last_source`` is the time of the newest independent source that the claimant knows. The level ``ended`` is refused
    if a newer source has joined since. The level ``update`` is refused if another process has already signalled an
    extent at least as large.

    A claim with a token can be repeated if its answer was lost: the same token gets the same answer. A claim that is
    granted is the event on its way. The store keeps it for each of its ``receivers`` until this one has the event. If
    the crawl that has it in hand dies, another process sends the event: the counters of the claim tell how the story
    was.
    """

    story: str
    level: Level
    last_source: int = 0
    extent: Extent = Extent()  # of the story as the claimant knows it
    signalled: Extent = Extent()  # the extent at the signal before this one; the store says so
    token: str = ""  # 16 hexadecimal digits, or "" if the store need not keep the event
    run: int = 0  # the crawl that has the event in hand, 0 if it is none
    receivers: tuple[bytes, ...] = (CRAWL,)
    time: int = 0  # of the event, in Unix seconds
    item: str | None = None  # id of the document that tipped it; None for an end
    joined: int = 0
    copies: int = 0
    breaking_over: int = 0  # the threshold of ``breaking`` at that time
