"""What a story says: its headline, the changed figures of its documents, the facts of its ledger, and messages.

A fact is the state of a kind of figure, with what it was, who prints it, and what contradicts it.

The message about an event is for people: what is new, the headline, who says so, and where to read it. Strangers write
headlines. So no headline is markup, names anybody, or is a link of its own, whatever chat shows it: over 100 services
read some form of Markdown, and Apprise escapes it for some of them only.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from datetime import datetime, timezone, tzinfo
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Any, NamedTuple
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from scrapy_neardup.document import HOUR
from scrapy_neardup.evidence.figures.counted import LABELS, FigureKind, in_words, kinds_told, rank_of
from scrapy_neardup.evidence.figures.figure import find_figures
from scrapy_neardup.evidence.figures.tolls import tolls_of
from scrapy_neardup.evidence.titles import names_site, title_without_site
from scrapy_neardup.evidence.tokens import REACTIONS
from scrapy_neardup.rules.ledger import LEAST_SUPPORT, against, newest_of_owners, supporters_of
from scrapy_neardup.rules.membership import PEOPLE_HARMED
from scrapy_neardup.story import Ledger, Member, PrintedFigure
from scrapy_neardup.text.display import counted, coverage_words, one_line
from scrapy_neardup.text.folding import fold
from scrapy_neardup.text.words import WITHOUT_SPACES

_CHANGE = re.compile("(?:(.+): )?(.+) -> (.+)", re.DOTALL)


class FigureChange(NamedTuple):
    """The value that a document gives a figure, and the value before."""

    figure: str  # its label, "" if the change cannot be read
    old: str
    new: str

    @property
    def subject(self) -> tuple[str, str]:
        """Return what identifies the figure: its label, or its old value if it has no label."""
        return (self.figure, "") if self.figure else ("", self.old)

    @property
    def words(self) -> str:
        return in_words(self.figure, self.old, self.new)


def read_change(line: str) -> FigureChange:
    """Read a line such as "dead: 4 -> 12". A line in any other form is a value without a label."""
    found = _CHANGE.fullmatch(line)
    if found is None:
        return FigureChange("", "", line)
    return FigureChange(*found.groups(default=""))


_LETTERS = r"(?:[^\W\d_]|[\u0900-\u0dff])+"  # with the vowel signs of Indic scripts


def headline_of(members: Sequence[Member], outdated: Collection[str] = (), told: Set[str] = frozenset()) -> str:
    """Return the headline of a story, "" if no member has a title that is more than the name of its site.

    Each owner has a say, by its newest title and lead. The headline is the title whose words and figures most other
    owners have too; ``_ranked`` says how this is counted. If none agree, it is the first title.

    Titles with a figure of ``told`` come first: if one has such a figure, the headline is one of these, and the newest
    of them if none agree. Titles are passed over if they are cut, are masked, have one or two words, or have a figure
    of ``outdated``, which are values that newer ones have replaced.
    """
    current = _titles_of(members, outdated, told)
    languages = Counter(member.language for member, _ in current if member.language).most_common(1)
    newest: dict[str, tuple[Member, str]] = {}
    for member, title in sorted(current, key=lambda row: row[0].seen_at):
        if member.owner and (not languages or member.language in ("", languages[0][0])):
            newest.pop(member.owner, None)  # an owner's place is that of its newest title
            newest[member.owner] = member, title
    best, _, title = max(_ranked(list(newest.values())), default=(0.0, 0, ""))
    if best > 0 or _figures_of(title) & told:
        return title
    return next((title for _, title in current), "")


def _ranked(titles: Sequence[tuple[Member, str]]) -> Iterator[tuple[float, int, str]]:
    """Yield how well each title of an owner agrees with what the other owners say, with its place and the title.

    ``titles`` has the newest title of each owner, by time. Those of the last hour vote. If they are fewer than half of
    all, the newer half votes; if that are fewer than three, the newest three.
    """
    said = [_words(" ".join((title, member.lead, *member.news[:1]))) for member, title in titles]
    last = max((member.seen_at for member, _ in titles), default=0)
    voters = max(3, (len(titles) + 1) // 2)
    older = min(sum(member.seen_at < last - HOUR for member, _ in titles), max(0, len(titles) - voters))
    for place, (_, title) in enumerate(titles):
        words = _words(title)
        others = [each for other, each in enumerate(said) if other >= older and other != place]
        agreed = sum(len(words & each) for each in others) / max(1, len(others))
        # It says no more than that somebody reacts, or asks: "The mayor comments on the fire".
        is_reaction = title.endswith(("?", "\u061f", "\uff1f")) or bool(re.search(REACTIONS, fold(title).casefold()))
        rank = agreed / (3 + len(words)) / (1 + is_reaction)  # with 3 the shortest title is not the best
        # An older one must be clearly better, else it may be a side article.
        yield rank / (1.5 if place < older else 1), place, title


def _titles_of(members: Sequence[Member], outdated: Collection[str], told: Set[str]) -> list[tuple[Member, str]]:
    """Return the members with a title that may be the headline: none is passed over if all would be."""
    without_site = ((each, title_without_site(" ".join(each.title.split()), each.source)) for each in members)
    titles = [(member, title) for member, title in without_site if title and not names_site(title, member.source)]
    # Pass over titles that are short, cut or masked; then those with outdated figures; then those without ``told``.
    whole = [
        (member, title)
        for member, title in titles
        if len(_words(title)) >= 3 and not title.endswith(("...", "…")) and "*" not in title
    ] or titles
    current = [row for row in whole if outdated and not _figures_of(row[1]) & set(outdated)] or whole
    return [row for row in current if _figures_of(row[1]) & told] or current


@lru_cache(maxsize=1000)
def _words(title: str) -> set[str]:
    """Return the beginnings of the words of a title, and its figures."""
    if unspaced := re.findall(WITHOUT_SPACES, title):
        return _figures_of(title).union(first + second for first, second in pairwise(unspaced))
    words = re.findall(rf"\d+|{_LETTERS}", title.casefold())
    # Words of three letters say little. What follows the sixth letter is the ending.
    return _figures_of(title).union(word[:6] for word in words if len(word) > 3 or word.isdigit())


@lru_cache(maxsize=1000)
def _figures_of(title: str) -> set[str]:
    return {figure.value for figure in find_figures(title)}


_MOST_SOURCES_LISTED = 3  # if there are more, the sentence gives only their number
UNCONFIRMED = "unconfirmed"  # what follows a number of people that is no state
_NUMBERS = {0: "no", 1: "one", 2: "two", 3: "three", 4: "four", 5: "five", 6: "six", 7: "seven", 8: "eight", 9: "nine"}


class Fact(NamedTuple):
    """A state of a ledger."""

    state: PrintedFigure  # as the first page prints it
    old: str  # the state before, "" if it is the first one
    is_new: bool  # since the last signal
    first: Member | None  # the first page, None if the story does not keep it
    supporters: tuple[Member, ...]  # the first page of each owner that prints it now, as far as they are kept, by time
    papers: int  # owners that print it now
    against: Mapping[str, int]  # values that contradict it, each with the owners that print it: two at least

    @property
    def label(self) -> str:
        return label_of(self.state.kind)

    @property
    def words(self) -> str:
        """Return the state in words: "12 dead, was 4"."""
        return in_words(self.label, self.old, self.state.words)


def label_of(kind: int) -> str:
    """Return the label of a figure that a ledger keeps."""
    return LABELS[kind] or FigureKind(kind).name.lower()


def states_of(ledger: Ledger, members: Sequence[Member], signalled: int) -> Iterator[Fact]:
    """Yield each state that the ledger keeps, in the order in which they came.

    ``signalled`` is the number of states at the last signal.
    """
    by_key = {bytes.fromhex(member.id): member for member in members}
    before: dict[int, str] = {}
    for number, state in enumerate(ledger.states, ledger.changed - len(ledger.states)):
        supporters = supporters_of(ledger, state)
        others = Counter(each.words for each in against(ledger, state))
        yield Fact(
            state,
            before.get(state.kind, ""),
            number >= signalled,
            by_key.get(state.document),
            tuple(by_key[each.document] for each in supporters if each.document in by_key),
            len(supporters),
            {value: count for value, count in others.items() if count >= LEAST_SUPPORT},
        )
        before[state.kind] = state.words


def unconfirmed(ledger: Ledger, members: Sequence[Member]) -> Fact | None:
    """Return how many people were harmed by most sources, if no state says it: of two numbers the lower one.

    It is "at least" so many if another source prints more.
    """
    told = ([each for each in newest_of_owners(ledger, kind) if each.value[1] > 0] for kind in sorted(PEOPLE_HARMED))
    newest = next(filter(None, told), [])  # a source that printed a number may say now that nobody was harmed
    if not newest or any(kind in PEOPLE_HARMED and each.value[1] > 0 for kind, each in ledger.current.items()):
        return None
    counts = Counter(each.value for each in newest)
    value = max(counts, key=lambda each: (counts[each], -each[0]))
    printed = [each for each in newest if each.value == value]
    by_key = {bytes.fromhex(member.id): member for member in members}
    supporters = tuple(by_key[each.document] for each in printed if each.document in by_key)
    state = printed[0]
    if any(each.low > value[1] for each in newest):
        state = state._replace(high=None, qualifier="at least")
    return Fact(state, "", True, None, supporters, len(printed), {})


def facts_of(states: Iterable[Fact], *, is_update: bool = False) -> list[Fact]:
    """Return the last state of each kind: those that are new since the last signal first, then what means most.

    That nobody was harmed is a fact only if the state before was higher, or if it is the news of an update.
    """
    current = {each.state.kind: each for each in states}
    told = (fact for fact in current.values() if fact.old or fact.state.value[1] > 0 or (is_update and fact.is_new))
    return sorted(told, key=lambda fact: (not fact.is_new, rank_of(fact.label)))


def sentence_of(fact: Fact, now: int, zone: tzinfo = timezone.utc, *, is_state: bool = True) -> str:
    """Say in one sentence a fact, who prints it, and what contradicts it.

    "12 dead, was 4: two sources say so, a.example at 10:15, b.example at 10:40 UTC; 2 say 15."
    """
    supporters = fact.supporters[:_MOST_SOURCES_LISTED]
    places = ", ".join(_place(member, now, zone) for member in supporters)
    more = f" and {fact.papers - len(supporters)} more" * (fact.papers > len(supporters))
    sources = f"{_NUMBERS.get(fact.papers, str(fact.papers))} source{'s' * (fact.papers != 1)}"
    listed = f", {places} {datetime.fromtimestamp(now, zone):%Z}{more}" if places else ""
    others = "".join(f"; {count} say {value}" for value, count in fact.against.items())
    words = fact.words if is_state else f"{fact.words}, {UNCONFIRMED}"
    return f"{words}: {sources} say{'s' * (fact.papers == 1)} so{listed}{others}."


def _place(member: Member, now: int, zone: tzinfo) -> str:
    """Return "a.example at 10:15", with the day and the zone if they are not those of the event."""
    seen_at, today = (datetime.fromtimestamp(second, zone) for second in (member.seen_at, now))
    day = "" if seen_at.date() == today.date() else f"on {seen_at:%Y-%m-%d} "
    of_zone = f" {seen_at:%Z}" * (seen_at.tzname() != today.tzname())  # the clocks were changed between the two
    return f"{member.source or member.owner} {day}at {seen_at:%H:%M}{of_zone}"


# Messages

_LONGEST_NEWS = 120
_LONGEST_SENTENCE = 400
_MOST_FACTS = 8  # below the title
# Places where a zero-width space takes the meaning from what follows. Nobody sees it.
_BROKEN = re.compile(
    # An address: between the slashes of "https://", behind a dot before a letter, and before an "@". Before a dot would
    # not do: to some chats a zero-width space is a character of a name like any other.
    r"(?<=/)(?=/)|(?<=\S\.)(?=[^\W\d_])|(?<=\w)(?=@)"
    # A line that begins a heading, a list or a table; a label of a link; a command; a hashtag; a spoiler; a smiley.
    r"|^(?=[-+=#|:]|\d+[.)])|(?<=\])(?=[(\[:])|(?<!\S)(?=/\w)|(?<=#)(?=\w)|(?<=\|)(?=\|)|(?<=:)(?=[\w+-]+:)"
)
# Characters that are markup wherever they are, and those that look alike.
_LOOK_ALIKE = str.maketrans("<>*_~`\\", "‹›∗ˍ∼ˋ∖") | {ord("@"): "@\u200b"}
# In an address they are percent-encoded. "_" is no markup inside a word.
_IN_LINK = re.compile(r"[*~@]|(?<![^\W_])_|_(?![^\W_])")
_NO_GROWTH = {"test": "no event, only a message", "ended": "no new source for two hours"}


class Message(NamedTuple):
    title: str  # "Update: 7 dead, was 3"
    body: str


def message_of(report: Mapping[str, Any]) -> Message:
    """Return the message about an event. Every key of the report may be missing."""
    level = "test" if report.get("test") else str(report.get("level") or "")  # ``scrapy neardup doctor`` sends tests
    new, known, said_by = _facts_told(report, level)
    in_title = _that_fit(new)
    measures = report.get("measures") or {}
    coverage = coverage_words(
        measures.get("sources", 0),
        measures.get("sites", 0),
        report.get("items", 0),
        measures.get("sources_with_copies", 0),
    )
    headlines = (_line(report.get(name) or "", 250) for name in ("headline", "url"))
    # The lead has its paper, and its language if most of the story is in another.
    lead = _line(report.get("lead") or "", _LONGEST_SENTENCE)
    page = report.get("lead_from") or {}
    main = next((each["language"] for each in report.get("languages") or ()), "")
    language = page.get("language", "")
    from_page = ", ".join(filter(None, (page.get("source"), language if language != main else "")))
    if lead:
        lead = f"“{lead}”" + (f" ({_line(from_page, _LONGEST_NEWS)})" if from_page else "")
    story = report.get("story")
    local_time = str(report.get("time") or "")
    with suppress(ValueError, OverflowError, OSError, ZoneInfoNotFoundError):
        zone = ZoneInfo(str(report.get("timezone") or "UTC"))
        time = datetime.fromisoformat(local_time.replace("Z", "+00:00")).astimezone(zone)
        local_time = f"{time.day} {time:%b %Y, %H:%M %Z}"
    lines = (
        next(filter(None, headlines), "an event without a title"),
        _line(said_by[:1].upper() + said_by[1:], _LONGEST_SENTENCE),
        lead,
        " · ".join(filter(None, (coverage, report.get("section")))),
        _other_facts([*new[len(in_title) :], *known]),
        *_links_of(report),
        " · ".join(filter(None, (local_time, f"story {story}" if story else ""))),
    )
    title = f"{level.capitalize()}: {_line('; '.join(in_title) or _growth_words(report, level), _LONGEST_NEWS)}"
    return Message(title, "\n".join(filter(None, lines)))


def _facts_told(report: Mapping[str, Any], level: str) -> tuple[list[str], list[str], str]:
    """Return the facts with which a message leads, those that it tells below, and who says the first one.

    That somebody died leads before a number of injured, also if no two sources agree how many: the headline tells it.
    """
    facts = report.get("facts") or ()
    new = [str(fact["words"]) for fact in facts if fact["is_new"]]
    known = [str(fact["words"]) for fact in facts if not fact["is_new"]]
    summary = str(report.get("summary") or "")
    claim = summary.partition(": ")[0]
    if level in ("watch", "breaking"):
        new = [claim] * claim.endswith(UNCONFIRMED) + new
        is_counted = any(words.partition(",")[0].endswith("dead") for words in new + known)
        is_first = bool(new) and new[0].partition(",")[0].endswith(("injured", "missing"))
        if is_first and not is_counted and _tells_death(str(report.get("headline") or "")):
            return [], new + known, ""
    return new, known, summary.removeprefix(f"{new[0]}: ") if new else ""


def _that_fit(facts: Sequence[str]) -> Sequence[str]:
    """Return the first facts, as many as fit into a title, but at least one. The body tells the others."""
    return facts[: sum(end <= _LONGEST_NEWS + 2 for end in accumulate(len(each) + 2 for each in facts)) or 1]


def _other_facts(facts: Sequence[str]) -> str:
    return f"Also: {'; '.join(_line(each, 200) for each in facts[:_MOST_FACTS])}" * bool(facts)


def _tells_death(headline: str) -> bool:
    dead = [each.low for each in tolls_of(headline, "") if each.kind == FigureKind.DEAD]
    return max(dead) > 0 if dead else FigureKind.DEAD in kinds_told(re.findall(_LETTERS, fold(headline).casefold()))


def _growth_words(report: Mapping[str, Any], level: str) -> str:
    measures = report.get("measures") or {}
    if level in _NO_GROWTH:
        return _NO_GROWTH[level]
    if level == "update":
        before = (report.get("update") or {}).get("sources_before", 0)
        sources = measures.get("sources", 0)
        if 1 < before <= sources < 2 * before:
            return "news that several sources tell"
        return f"grown from {before} to {counted(sources, 'source')}"
    if report.get("rule") == "count":
        return f"{counted(measures.get('items_in_4_hours', 0), 'item')} within four hours"
    return f"{counted(measures.get('new_sources_in_an_hour', 0), 'source')} within an hour"


def _links_of(report: Mapping[str, Any]) -> Iterator[str]:
    """Yield the addresses of the first and of the newest report, or of one of them if they are the same."""
    known = ""
    for name, key in (("Original", "first"), ("Newest", "newest")):
        url = str((report.get(key) or {}).get("url") or "")
        host = None
        with suppress(ValueError):
            host = urlsplit(url).hostname
        is_plain = re.fullmatch(r"https?://[!#-;=?-\[\]_a-z~%&]+", url) is not None and not re.search(r"[()|]", url)
        if url != known and is_plain and host and len(url) <= 1000:
            known = url
            yield f"{name}: {_IN_LINK.sub(lambda found: f'%{ord(found[0]):02X}', url)}"


def _line(text: object, most: int) -> str:
    """Return a text on one line that reads as it is written, and that no chat takes for markup, a link or a mention."""
    return one_line(_BROKEN.sub("\u200b", one_line(str(text), most)), most).translate(_LOOK_ALIKE)
