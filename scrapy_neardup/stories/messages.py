"""Messages for chats: a special report as Slack, Discord and Teams take it, with one sentence, figures and links.

Each chat cuts or refuses texts over its limits, and reads markup in them. So texts are shortened, and no headline is
markup, names anybody, or is a link of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from html import escape
from typing import Any, Literal, NamedTuple, get_args
from urllib.parse import urlsplit

from scrapy_neardup.document import counted, one_line

WebhookFormat = Literal["plain", "slack", "discord", "teams"]

_LONGEST_HEADLINE = 140  # characters; a header of Slack takes 150
_LONGEST_SENTENCE = 400
_LONGEST_URL = 1000
_MOST_FIGURES = 5
_MOST_LINKS = 5
_MARKDOWN = re.compile(r"([\\`*_~|<>\[\]()#])")
# Places that break an address: between the slashes of "https://", behind a dot before a letter, and before an "@".
# Before a dot would not do: to some chats a zero-width space is a character of a name like any other.
_IN_ADDRESS = re.compile(r"(?<=/)(?=/)|(?<=\S\.)(?=[^\W\d_])|(?<=\w)(?=@)")
_COLORS = {"watch": 0xE0A800, "breaking": 0xC62828, "update": 0x1565C0, "ended": 0x757575}


class Message(NamedTuple):
    """The parts of a message, safe for a terminal, but with markup characters as they are."""

    level: str
    headline: str
    sentence: str
    figures: tuple[str, ...]
    links: tuple[tuple[str, str], ...]  # source and url
    time: str


def message(report: Mapping[str, Any], form: WebhookFormat) -> Mapping[str, Any]:
    """Return the body of a POST about an event: the report itself if ``form`` is plain."""
    return _FORMS[form](report)


def _read(report: Mapping[str, Any]) -> Message:
    """Read a report. An outbox may hold a report of an earlier version, so every key may be missing."""
    level = "test" if report.get("test") else str(report.get("level") or "")  # ``scrapy neardup doctor`` sends tests
    titles = (_line(report.get(name) or "", _LONGEST_HEADLINE) for name in ("headline", "url"))
    headline = next(filter(None, titles), "an event without a title")
    return Message(
        level,
        headline,
        _line(_sentence(report, level, headline), _LONGEST_SENTENCE),
        _figures(report),
        _links(report),
        str(report.get("time") or ""),
    )


def _sentence(report: Mapping[str, Any], level: str, headline: str) -> str:
    """Say in one sentence what has happened."""
    measures, first = report.get("measures") or {}, report.get("first") or {}
    sources = counted(measures.get("sources", 0), "independent source")
    items = counted(report.get("items", 0), "item")
    if level == "update":
        if summary := report.get("summary"):
            return str(summary)
        before = (report.get("update") or {}).get("sources_before", 0)
        return f"“{headline}” has grown from {before} to {sources}, with {items} in all."
    if level == "ended":
        return f"“{headline}” has had no new source for two hours: {sources}, {items} in all."
    since = f", first {first['source']} at {_clock(first)}" if first.get("source") else ""
    if report.get("rule") == "count":
        return f"{counted(measures.get('items_in_4_hours', 0), 'item')} on “{headline}” within four hours{since}."
    in_an_hour = counted(measures.get("new_sources_in_an_hour", 0), "independent source")
    return f"{in_an_hour} took up “{headline}” within an hour{since}."


def _figures(report: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the newest value of each figure, the newest figure first."""
    newest: dict[str, str] = {}
    for change in reversed(report.get("figures") or ()):
        label = change.get("figure") or change.get("old") or ""
        if label not in newest:
            before = f" (before: {change['old']})" if change.get("old") else ""
            place = f", {change['source']} at {_clock(change)}" if change.get("source") else ""
            newest[label] = _line(f"{change.get('figure') or 'figure'}: {change.get('new')}{before}{place}", 200)
    return tuple(newest.values())[:_MOST_FIGURES]


def _links(report: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return the first report of each of the first sources."""
    places = [report.get("first") or {}, *(report.get("sources") or ())]
    found = {
        str(place["url"]): one_line(str(place.get("source") or "report"), 80) for place in places if place.get("url")
    }
    return tuple((source, url) for url, source in found.items() if _is_link(url))[:_MOST_LINKS]


def _is_link(url: str) -> bool:
    """Decide whether a url is safe inside the markup of every chat."""
    try:
        host = urlsplit(url).hostname
    except ValueError:
        return False
    is_plain = re.fullmatch(r"https?://[!#-;=?-\[\]_a-z~%&]+", url) is not None
    return is_plain and bool(host) and len(url) <= _LONGEST_URL and not re.search(r"[()|]", url)


def _clock(place: Mapping[str, Any]) -> str:
    """Return the hour and minute of an ISO 8601 time, which is in UTC."""
    return f"{str(place.get('time') or '')[11:16]} UTC"


def _line(text: object, most: int) -> str:
    """Return a text on one line. A zero-width space breaks each address in it, for chats make links of addresses."""
    return one_line(_IN_ADDRESS.sub("\u200b", str(text)[: 10 * most]), most)


def _slack(report: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return Block Kit: https://docs.slack.dev/messaging/formatting-message-text says what must be escaped."""
    said = _read(report)
    links = " · ".join(f"<{escape(url, quote=False)}|{escape(source, quote=False)}>" for source, url in said.links)
    header = {
        "type": "header",
        "text": {"type": "plain_text", "text": f"{said.level.capitalize()}: {said.headline}"[:150]},
    }
    texts = filter(None, (said.sentence, "\n".join(said.figures)))
    sections = ({"type": "section", "text": {"type": "plain_text", "text": text}} for text in texts)
    blocks: list[dict[str, Any]] = [header, *sections]
    if links:
        blocks.append({"type": "context", "elements": [{"type": "mrkdwn", "text": links}]})
    return {"text": escape(f"{said.level.capitalize()}: {said.sentence}", quote=False), "blocks": blocks}


def _discord(report: Mapping[str, Any]) -> Mapping[str, Any]:
    said = _read(report)
    embed: dict[str, Any] = {
        "title": _escaped(said.headline)[:256],
        "description": "\n".join(f"[{_escaped(source)}]({url})" for source, url in said.links)[:4096],
        "color": _COLORS.get(said.level, 0),
    }
    if said.figures:
        embed["fields"] = [{"name": "Newest figures", "value": "\n".join(map(_escaped, said.figures))[:1024]}]
    if said.links:
        embed["url"] = said.links[0][1]
    if said.time:
        embed["timestamp"] = said.time
    content = f"**{_escaped(said.level.capitalize())}**: {_escaped(said.sentence)}"[:2000]
    return {"content": content, "embeds": [embed], "allowed_mentions": {"parse": []}}


def _teams(report: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an Adaptive Card, as a Teams workflow ("when a webhook request is received") takes it."""
    said = _read(report)
    body = [_text(f"{said.level.capitalize()}: {said.headline}", size="Large", weight="Bolder"), _text(said.sentence)]
    body += [_text(figure, spacing="Small") for figure in said.figures]
    card = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": body,
        "actions": [{"type": "Action.OpenUrl", "title": source, "url": url} for source, url in said.links],
    }
    attachment = {"contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": None, "content": card}
    return {"type": "message", "attachments": [attachment]}


def _text(text: str, **style: str) -> dict[str, Any]:
    return {"type": "TextBlock", "text": _escaped(text), "wrap": True, **style}


def _escaped(text: str) -> str:
    """Return text in which nothing is Markdown or a mention."""
    return _MARKDOWN.sub(r"\\\1", text)


_FORMS: dict[WebhookFormat, Callable[[Mapping[str, Any]], Mapping[str, Any]]] = {
    "plain": lambda report: report,
    "slack": _slack,
    "discord": _discord,
    "teams": _teams,
}
FORMATS: tuple[WebhookFormat, ...] = get_args(WebhookFormat)
