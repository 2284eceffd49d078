"""Write the page: templates, styles and scripts in one file that asks no network for anything.

The page has a Content-Security-Policy that allows its own scripts and styles by their hashes, and nothing else.
"""

from __future__ import annotations

import base64
import hashlib
from datetime import datetime, timezone
from email.message import EmailMessage
from email.policy import default as default_policy
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from scrapy_neardup.document import KINDS, counted
from scrapy_neardup.exceptions import InputError
from scrapy_neardup.report.gathering import Gathered
from scrapy_neardup.report.news import DAY, News
from scrapy_neardup.report.overview import VERDICTS, Overview
from scrapy_neardup.report.payload import Payload, inert_json, review_data
from scrapy_neardup.report.review import Sample
from scrapy_neardup.report.rows import LONGEST_NAME, clean_line, web_address

if TYPE_CHECKING:
    from jinja2 import Environment

_HERE = files("scrapy_neardup.report")
_LIBRARY = "jsdiff-9.0.0"
"""The library that is part of the page. The first lines of its licence name its holders."""

_SCRIPTS = ("data", "elements", "differences", "compare", "stories", "drops", "review", "marks", "page")


def render(
    title: str, gathered: Gathered, overview: Overview, sample: Sample, payload: Payload, **parts: object
) -> str:
    """Return the page. ``parts`` are further variables of the templates: ``days``, ``notes`` and ``reasons``."""
    styles, scripts = _read("static", "report.css"), [_read("static", "vendor", f"{_LIBRARY}.min.js"), _own_script()]
    preset = gathered.settings.resolved_preset()
    meta = {
        "verdicts": VERDICTS,
        "kinds": KINDS,
        "chunkOf": payload.chunk_of,
        "review": review_data(sample, payload),
        "reasons": parts["reasons"],
        "measure": preset.measure,
        "relatedThreshold": preset.related_threshold,
    }
    template = load_templates().get_template("page.html.j2")
    return template.render(
        **parts,
        title=title or _title(overview),
        overview=overview,
        sample=sample,
        payload=payload,
        drop_share=gathered.settings.drop_share,
        feeds=[path.name for path in (*gathered.feeds, *gathered.dropped)],
        policy=_policy(styles, scripts),
        styles=styles,
        scripts=scripts,
        meta=inert_json(meta),
        library=_LIBRARY.replace("-", " "),
        licence=_read("static", "vendor", f"{_LIBRARY}.LICENSE"),
    )


def _title(overview: Overview) -> str:
    days = dict.fromkeys(_moment(time, "%Y-%m-%d") for time in (overview.first, overview.last) if time is not None)
    return f"News of {' to '.join(days)}" if days else "News"


def write_digest(news: News, title: str) -> bytes:
    """Return an e-mail: the news as plain text and as HTML, whose styles are in the elements, as e-mail needs it."""
    plain, html = (load_templates().get_template(f"digest.{form}.j2") for form in ("txt", "html"))
    message = EmailMessage(policy=default_policy)
    start = news.period.start
    day = "" if start is None else f", {_moment(start)} to {_moment(start + DAY)} UTC"
    message["Subject"] = clean_line(title or f"News digest{day}", LONGEST_NAME)
    message.set_content(plain.render(news=news, title=title))
    message.add_alternative(written := html.render(news=news, title=title), subtype="html")
    message.set_boundary(hashlib.sha256(written.encode("utf-8")).hexdigest())  # no text of the feeds can guess it
    return message.as_bytes()


def _policy(styles: str, scripts: list[str]) -> str:
    return (
        f"default-src 'none'; script-src {' '.join(map(_hash, scripts))}; style-src {_hash(styles)}; img-src data:;"
        " base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'"
    )


def _hash(content: str) -> str:
    digest = hashlib.sha256(content.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


@cache
def _read(*path: str) -> str:
    """Return a file of the package. A browser hashes a script with line feeds, so the file has no others."""
    return _HERE.joinpath(*path).read_text(encoding="utf-8").replace("\r\n", "\n")


def _own_script() -> str:
    """Return the scripts of the report as one, in a scope of its own."""
    parts = "\n".join(_read("static", f"{name}.js") for name in _SCRIPTS)
    return f"(() => {{\n'use strict';\n{parts}\n}})();"


@cache
def load_templates() -> Environment:
    """Return the templates. Raise InputError if Jinja2 is not installed."""
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError as error:
        raise InputError("the report needs Jinja2: pip install jinja2") from error
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
        iso=lambda second: _moment(second, "%Y-%m-%dT%H:%M:%SZ"),
        address=web_address,
    )
    environment.globals.update(counted=counted)
    return environment


def _moment(second: float, form: str = "%Y-%m-%d %H:%M") -> str:
    return f"{datetime.fromtimestamp(second, timezone.utc):{form}}"


def _until(second: float, first: float) -> str:
    """Return a time without its day if that is the day of ``first``."""
    return _moment(second).removeprefix(_moment(first, "%Y-%m-%d "))
