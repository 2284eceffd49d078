"""Messages about events: a special report as Slack, Discord and Teams take it, or as a template of the user's own.

What is new comes first, then the headline, who says so, and where to read it.

Each chat cuts or refuses texts over its limits, and reads markup in them. So texts are shortened, and no headline is
markup, names anybody, or is a link of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from html import escape
from typing import Any, NamedTuple
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from scrapy_neardup.imports import load_callable
from scrapy_neardup.wording import counted, one_line

_LONGEST_HEADLINE = 140  # characters; a header of Slack takes 150
_LONGEST_NEWS = 120
_LONGEST_SENTENCE = 400
_LONGEST_URL = 1000
_MOST_FIGURES = 5
_MARKDOWN = re.compile(r"([\\`*_~|<>\[\]()#])")
# Places that break an address: between the slashes of "https://", behind a dot before a letter, and before an "@".
# Before a dot would not do: to some chats a zero-width space is a character of a name like any other.
_IN_ADDRESS = re.compile(r"(?<=/)(?=/)|(?<=\S\.)(?=[^\W\d_])|(?<=\w)(?=@)")
_NO_MARKUP = {ord("<"): "‹", ord(">"): "›", ord("@"): "@\u200b"}
_COLORS = {"watch": 0xE0A800, "breaking": 0xC62828, "update": 0x1565C0, "ended": 0x757575}


_NO_GROWTH = {"test": "no event, only a message", "ended": "no new source for two hours"}


class Message(NamedTuple):
    """The parts of a message, safe for a terminal, but with markup characters as they are."""

    level: str
    news: str  # what is new: "7 dead, was 3"
    headline: str
    said_by: str  # who prints the new figure
    lead: str  # the first sentence of the report that raised the event
    coverage: str  # how many sources, and how many of them print copies
    figures: str  # those that are not new
    time: str  # with its zone
    story: str
    id: str
    links: tuple[tuple[str, str, str], ...]  # name, label and url, of the first and of the newest report

    @property
    def title(self) -> str:
        return f"{self.level.capitalize()}: {self.news}"

    @property
    def paragraphs(self) -> tuple[str, ...]:
        """Return everything between headline and links, in the order in which it is read."""
        figures = f"Also: {self.figures}" if self.figures else ""
        return tuple(filter(None, (self.said_by, self.lead, self.coverage, figures)))

    @property
    def footer(self) -> str:
        return " · ".join(filter(None, (self.time, self.story and f"story {self.story}")))


Body = Mapping[str, Any]
Formatter = Callable[[Mapping[str, Any]], "Body | str | None"]


def formatter(form: str) -> Formatter:
    """Return the function that makes the body of a POST from the report of an event.

    ``form`` is a value of ``NEARDUP_EVENTS_WEBHOOK_FORMAT``. The function of a user may return a text, or None to send
    nothing. Raise SettingsError if it cannot be imported.
    """
    if "{" in form:
        return lambda report: form.format_map(_fields(report))
    return _FORMS[form] if form in _FORMS else load_callable("NEARDUP_EVENTS_WEBHOOK_FORMAT", form, ALLOWED_FORMATS)


def message(report: Mapping[str, Any], form: str) -> Body | None:
    """Return the body of a POST about an event: the report itself if ``form`` is plain, None to send nothing."""
    body = formatter(form)(report)
    return {"text": body} if isinstance(body, str) else body


def check_format(form: object) -> str:
    """Return a format that can be used. Raise ValueError to say what is allowed."""
    if not isinstance(form, str) or not (form in _FORMS or "{" in form or re.fullmatch(r"\w+(\.\w+)+", form)):
        raise ValueError(f"must be {ALLOWED_FORMATS}")
    try:
        formatter(form)({}) if "{" in form else None
    except (LookupError, ValueError, ArithmeticError, AttributeError, TypeError, MemoryError) as error:
        raise ValueError(f"is no format string: {error!r}; fields are {', '.join(_fields({}))}") from None
    return form


def _fields(report: Mapping[str, Any]) -> dict[str, str]:
    """Return what a format string may name. Of the texts nothing is markup or a mention."""
    said = _read(report)
    texts = {name: text.translate(_NO_MARKUP) for name, text in said._asdict().items() if name != "links"}
    return {**texts, "original": "", "newest": "", **{name: url for name, _, url in said.links}}


def _read(report: Mapping[str, Any]) -> Message:
    """Read a report. An outbox may hold a report of an earlier version, so every key may be missing."""
    level = "test" if report.get("test") else str(report.get("level") or "")  # ``scrapy neardup doctor`` sends tests
    titles = (_line(report.get(name) or "", _LONGEST_HEADLINE) for name in ("headline", "url"))
    facts = [(str(fact["words"]), fact["is_new"]) for fact in report.get("facts") or ()][:_MOST_FIGURES]
    new = [words for words, is_new in facts if is_new]
    said_by = str(report.get("summary") or "").removeprefix(f"{new[0]}: ") if new else ""
    return Message(
        level,
        _line("; ".join(new) or _growth(report, level), _LONGEST_NEWS),
        next(filter(None, titles), "an event without a title"),
        _line(said_by[:1].upper() + said_by[1:], _LONGEST_SENTENCE),
        _line(report.get("lead") or "", _LONGEST_SENTENCE),
        _coverage(report),
        "; ".join(_line(words, 200) for words, is_new in facts if not is_new),
        _local_time(report),
        str(report.get("story") or ""),
        str(report.get("id", "")),
        _links(report),
    )


def _growth(report: Mapping[str, Any], level: str) -> str:
    """Say what is new if no figure is: how fast the story grew."""
    measures = report.get("measures") or {}
    if level in _NO_GROWTH:
        return _NO_GROWTH[level]
    if level == "update":
        before = (report.get("update") or {}).get("sources_before", 0)
        return f"grown from {before} to {counted(measures.get('sources', 0), 'source')}"
    if report.get("rule") == "count":
        return f"{counted(measures.get('items_in_4_hours', 0), 'item')} within four hours"
    return f"{counted(measures.get('new_sources_in_an_hour', 0), 'source')} within an hour"


def _coverage(report: Mapping[str, Any]) -> str:
    """Say how many independent sources there are, and how many of them print copies only."""
    measures = report.get("measures") or {}
    copies = measures.get("sources_with_copies", 0)
    told = counted(measures.get("sources", 0), "independent source")
    told += f", {copies} of them print copies only" if copies else ""
    return f"{told}; {counted(report.get('items', 0), 'item')}"


def _links(report: Mapping[str, Any]) -> tuple[tuple[str, str, str], ...]:
    """Return name, label and url of the first and of the newest report, or of one of them if they are the same."""
    links: dict[str, tuple[str, str, str]] = {}  # by url
    for name, key in (("original", "first"), ("newest", "newest")):
        place = report.get(key) or {}
        url = str(place.get("url") or "")
        if _is_link(url):
            source = one_line(str(place.get("source") or "report"), 80)
            links.setdefault(url, (name, f"{name.capitalize()}: {source}", url))
    return tuple(links.values())


def _local_time(report: Mapping[str, Any]) -> str:
    """Return the time of a report in its time zone: "15 Nov 2019, 13:15 CET"."""
    try:
        zone = ZoneInfo(str(report.get("timezone") or "UTC"))
        time = datetime.fromisoformat(str(report.get("time") or "").replace("Z", "+00:00")).astimezone(zone)
    except (ValueError, OSError, ZoneInfoNotFoundError):
        return str(report.get("time") or "")
    return f"{time.day} {time:%b %Y, %H:%M %Z}"


def _is_link(url: str) -> bool:
    """Decide whether a url is safe inside the markup of every chat."""
    try:
        host = urlsplit(url).hostname
    except ValueError:
        return False
    is_plain = re.fullmatch(r"https?://[!#-;=?-\[\]_a-z~%&]+", url) is not None
    return is_plain and bool(host) and len(url) <= _LONGEST_URL and not re.search(r"[()|]", url)


def _line(text: object, most: int) -> str:
    """Return a text on one line. A zero-width space breaks each address in it, for chats make links of addresses."""
    return one_line(_IN_ADDRESS.sub("\u200b", str(text)[: 10 * most]), most)


def _slack(report: Mapping[str, Any]) -> Body:
    """Return Block Kit: https://docs.slack.dev/messaging/formatting-message-text says what must be escaped."""
    said = _read(report)
    links = [f"<{escape(url, quote=False)}|{escape(label, quote=False)}>" for _, label, url in said.links]
    footer = " · ".join(filter(None, [*links, escape(said.footer, quote=False)]))
    texts = ("header", said.title[:150]), ("section", said.headline), ("section", "\n".join(said.paragraphs))
    blocks: list[Body] = [{"type": kind, "text": {"type": "plain_text", "text": text}} for kind, text in texts]
    blocks.append({"type": "context", "elements": [{"type": "mrkdwn", "text": footer or "-"}]})
    return {"text": escape(f"{said.title}. {said.headline}", quote=False), "blocks": blocks}


def _discord(report: Mapping[str, Any]) -> Body:
    said = _read(report)
    links = [f"[{_escaped(label)}]({url})" for _, label, url in said.links]
    embed: dict[str, Any] = {
        "title": _escaped(said.headline)[:256],
        "description": "\n".join([*map(_escaped, said.paragraphs), " · ".join(links)])[:4096],
        "color": _COLORS.get(said.level, 0),
        "footer": {"text": said.footer},
    }
    if said.links:
        embed["url"] = said.links[-1][-1]
    content = f"**{_escaped(said.level.capitalize())}**: {_escaped(said.news)}"[:2000]
    return {"content": content, "embeds": [embed], "allowed_mentions": {"parse": []}}


def _teams(report: Mapping[str, Any]) -> Body:
    """Return an Adaptive Card, as a Teams workflow ("when a webhook request is received") takes it."""
    said = _read(report)
    body = [_text(said.title, size="Large", weight="Bolder"), _text(said.headline, weight="Bolder")]
    body += [_text(paragraph, spacing="Small") for paragraph in said.paragraphs]
    body += [_text(said.footer, size="Small", isSubtle=True)] if said.footer else []
    card = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": body,
        "actions": [{"type": "Action.OpenUrl", "title": label, "url": url} for _, label, url in said.links],
    }
    attachment = {"contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": None, "content": card}
    return {"type": "message", "attachments": [attachment]}


def _text(text: str, **style: object) -> dict[str, Any]:
    return {"type": "TextBlock", "text": _escaped(text), "wrap": True, **style}


def _escaped(text: str) -> str:
    """Return text in which nothing is Markdown or a mention."""
    return _MARKDOWN.sub(r"\\\1", text)


_FORMS: dict[str, Formatter] = {"plain": lambda report: report, "slack": _slack, "discord": _discord, "teams": _teams}
ALLOWED_FORMATS = f"{', '.join(map(repr, _FORMS))}, a text with {{fields}}, or the import path of a callable (report)"
