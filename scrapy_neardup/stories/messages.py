"""The message about an event, for people: what is new, the headline, who says so, and where to read it.

Strangers write headlines. So no headline is markup, names anybody, or is a link of its own, whatever chat shows it:
over 100 services read some form of Markdown, and Apprise escapes it for some of them only.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any, NamedTuple
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from scrapy_neardup.stories.summary import UNCONFIRMED
from scrapy_neardup.text.display import counted, coverage_words, one_line

_LONGEST_NEWS = 120
_LONGEST_SENTENCE = 400
_LONGEST_URL = 1000
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
    facts = [(str(fact["words"]), fact["is_new"]) for fact in report.get("facts") or ()][:5]
    new = [words for words, is_new in facts if is_new]
    known = "; ".join(_line(words, 200) for words, is_new in facts if not is_new)
    summary = str(report.get("summary") or "")
    claim = summary.partition(": ")[0]
    if level in ("watch", "breaking") and claim.endswith(UNCONFIRMED):
        new.insert(0, claim)
    said_by = summary.removeprefix(f"{new[0]}: ") if new else ""
    measures = report.get("measures") or {}
    coverage = coverage_words(
        measures.get("sources", 0),
        measures.get("sites", 0),
        report.get("items", 0),
        measures.get("sources_with_copies", 0),
    )
    headlines = (_line(report.get(name) or "", 250) for name in ("headline", "url"))
    story = report.get("story")
    lines = (
        next(filter(None, headlines), "an event without a title"),
        _line(said_by[:1].upper() + said_by[1:], _LONGEST_SENTENCE),
        _quotation(report),
        " · ".join(filter(None, (coverage, report.get("section")))),
        f"Also: {known}" if known else "",
        *_links(report),
        " · ".join(filter(None, (_local_time(report), f"story {story}" if story else ""))),
    )
    title = f"{level.capitalize()}: {_line('; '.join(new) or _growth(report, level), _LONGEST_NEWS)}"
    return Message(title, "\n".join(filter(None, lines)))


def _quotation(report: Mapping[str, Any]) -> str:
    """Return the lead in quotation marks, with its paper, and with its language if most of the story is in another."""
    lead = _line(report.get("lead") or "", _LONGEST_SENTENCE)
    page = report.get("lead_from") or {}
    main = next((each["language"] for each in report.get("languages") or ()), "")
    language = page.get("language", "")
    said_by = ", ".join(filter(None, (page.get("source"), language if language != main else "")))
    return lead and f"“{lead}”" + (f" ({_line(said_by, _LONGEST_NEWS)})" if said_by else "")


def _growth(report: Mapping[str, Any], level: str) -> str:
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


def _links(report: Mapping[str, Any]) -> Iterator[str]:
    """Yield the addresses of the first and of the newest report, or of one of them if they are the same."""
    known = ""
    for name, key in (("Original", "first"), ("Newest", "newest")):
        url = str((report.get(key) or {}).get("url") or "")
        host = None
        with suppress(ValueError):
            host = urlsplit(url).hostname
        is_plain = re.fullmatch(r"https?://[!#-;=?-\[\]_a-z~%&]+", url) is not None and not re.search(r"[()|]", url)
        if url != known and is_plain and host and len(url) <= _LONGEST_URL:
            known = url
            yield f"{name}: {_IN_LINK.sub(lambda found: f'%{ord(found[0]):02X}', url)}"


def _local_time(report: Mapping[str, Any]) -> str:
    """Return the time of a report in its time zone: "15 Nov 2019, 13:15 CET"."""
    try:
        zone = ZoneInfo(str(report.get("timezone") or "UTC"))
        time = datetime.fromisoformat(str(report.get("time") or "").replace("Z", "+00:00")).astimezone(zone)
    except (ValueError, OSError, ZoneInfoNotFoundError):
        return str(report.get("time") or "")
    return f"{time.day} {time:%b %Y, %H:%M %Z}"


def _line(text: object, most: int) -> str:
    """Return a text on one line that reads as it is written, and that no chat takes for markup, a link or a mention."""
    line = _BROKEN.sub("\u200b", one_line(str(text), most))
    return one_line(line, most).translate(_LOOK_ALIKE)
