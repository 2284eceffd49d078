"""Write the page: templates, styles and scripts in one file that asks no network for anything.

The page has a Content-Security-Policy that allows its own scripts and styles by their hashes, and nothing else.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from email.message import EmailMessage
from email.policy import default as default_policy
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from scrapy_neardup.document import KINDS, counted
from scrapy_neardup.exceptions import InputError
from scrapy_neardup.report.charts import chart_of_bars, sparkline, stacked, timeline_of
from scrapy_neardup.report.clean import clean_line, web_address
from scrapy_neardup.report.contents import Contents
from scrapy_neardup.report.news import DAY, News
from scrapy_neardup.report.overview import VERDICTS, Overview
from scrapy_neardup.report.payload import inert_json
from scrapy_neardup.report.rows import LONGEST_NAME

if TYPE_CHECKING:
    from jinja2 import Environment

_HERE = files("scrapy_neardup.report")
_VENDORED = ("jsdiff-9.0.0",)
_SCRIPTS = ("data", "elements", "differences", "compare", "stories", "drops", "review", "marks", "page")


@dataclass(frozen=True, slots=True)
class Library:
    """A library that is part of the page: the first lines of its licence name its holders."""

    name: str
    licence: str


def require_jinja() -> None:
    """Raise InputError if Jinja2 is not installed."""
    try:
        import jinja2  # noqa: F401
    except ImportError as error:
        raise InputError("the report needs Jinja2: pip install jinja2") from error


def render(contents: Contents, review: dict[str, Any], title: str) -> str:
    """Return the page."""
    styles, scripts = _read("static", "report.css"), [*_vendored_scripts(), _own_script()]
    feeds = [path.name for path in (*contents.gathered.feeds, *contents.gathered.dropped)]
    payload, preset = contents.payload, contents.gathered.settings.resolved_preset()
    meta = {
        "verdicts": VERDICTS,
        "kinds": KINDS,
        "chunkOf": payload.chunk_of,
        "review": review,
        "reasons": contents.reasons,
        "measure": preset.measure,
        "relatedThreshold": preset.related_threshold,
    }
    return (
        _environment()
        .get_template("page.html.j2")
        .render(
            contents=contents,
            overview=contents.overview,
            places=payload.places,
            title=title or _title(contents.overview),
            feeds=feeds,
            policy=_policy([styles], scripts),
            styles=styles,
            scripts=scripts,
            meta=inert_json(meta),
            libraries=list(_libraries()),
        )
    )


def _title(overview: Overview) -> str:
    days = dict.fromkeys(_moment(time)[:10] for time in (overview.first, overview.last) if time is not None)
    return f"News of {' to '.join(days)}" if days else "News"


def write_digest(news: News, title: str) -> bytes:
    """Return an e-mail: the news as plain text and as HTML, whose styles are in the elements, as e-mail needs it."""
    plain, html = (_environment().get_template(f"digest.{form}.j2") for form in ("txt", "html"))
    message = EmailMessage(policy=default_policy)
    start = news.period.start
    day = "" if start is None else f", {_moment(start)} to {_moment(start + DAY)} UTC"
    message["Subject"] = clean_line(title or f"News digest{day}", LONGEST_NAME)
    message.set_content(plain.render(news=news, title=title))
    message.add_alternative(written := html.render(news=news, title=title), subtype="html")
    message.set_boundary(hashlib.sha256(written.encode("utf-8")).hexdigest())  # no text of the feeds can guess it
    return message.as_bytes()


def _policy(styles: list[str], scripts: list[str]) -> str:
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src {' '.join(map(_hash, scripts))}",
            f"style-src {' '.join(map(_hash, styles))}",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
        )
    )


def _hash(content: str) -> str:
    digest = hashlib.sha256(content.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


@cache
def _read(*path: str) -> str:
    """Return a file of the package. A browser hashes a script with line feeds, so the file has no others."""
    return _HERE.joinpath(*path).read_text(encoding="utf-8").replace("\r\n", "\n")


def _vendored_scripts() -> list[str]:
    return [_read("static", "vendor", f"{name}.min.js") for name in _VENDORED]


def _libraries() -> Iterator[Library]:
    for name in _VENDORED:
        yield Library(name.replace("-", " "), _read("static", "vendor", f"{name}.LICENSE"))


def _own_script() -> str:
    """Return the scripts of the report as one, in a scope of its own."""
    parts = "\n".join(_read("static", f"{name}.js") for name in _SCRIPTS)
    return f"(() => {{\n'use strict';\n{parts}\n}})();"


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("scrapy_neardup.report"),
        autoescape=lambda name: name is not None and name.endswith(".html.j2"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        number=lambda number: f"{number:,}",
        percent=lambda share: f"{share:.0%}",
        moment=_moment,
        until=_until,
        duration=_duration,
        iso=lambda second: _utc(second).strftime("%Y-%m-%dT%H:%M:%SZ"),
        address=web_address,
    )
    environment.globals.update(
        chart_of_bars=chart_of_bars, counted=counted, sparkline=sparkline, stacked=stacked, timeline_of=timeline_of
    )
    return environment


def _utc(second: float) -> datetime:
    return datetime.fromtimestamp(second, timezone.utc)


def _moment(second: float) -> str:
    return _utc(second).strftime("%Y-%m-%d %H:%M")


def _until(second: float, first: float) -> str:
    """Return a time without its day if that is the day of ``first``."""
    return _moment(second)[11 if _utc(second).date() == _utc(first).date() else 0 :]


def _duration(seconds: int) -> str:
    """Return a duration in the largest unit that divides it."""
    units = ((86_400, "day"), (3600, "hour"), (60, "minute"))
    length, unit = next((length, unit) for length, unit in units if seconds % length == 0)
    return counted(seconds // length, unit)
