"""Build the page of a report, or a digest: templates, styles and scripts in one file that asks no network for anything.

The page has a Content-Security-Policy that allows its own scripts and styles by their hashes, and nothing else.
"""

import base64
import hashlib
import math
import re
import time
from collections.abc import Mapping
from datetime import datetime, timezone, tzinfo
from email.message import EmailMessage
from email.policy import default as default_policy
from functools import cache, partial
from importlib.resources import files
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from scrapy_neardup.evidence.lead import find_lead, tells_headline
from scrapy_neardup.stories.rules import DAY
from scrapy_neardup.text.display import counted
from scrapy_neardup.tools.lab.feed import needed
from scrapy_neardup.tools.report.feed_stories import (
    ALL,
    FeedStory,
    Matches,
    Period,
    add_reports,
    group_stories,
    matches_of,
)
from scrapy_neardup.tools.report.gathering import LONGEST_NAME, UNTAGGED, Gathered, Row, clean_line
from scrapy_neardup.tools.report.news import (
    MOST_DAYS,
    VERDICTS,
    PeriodNews,
    choose_stories,
    days_of,
    fitting_texts,
    inert_json,
    items_and_stories,
    news_of,
    periods_of,
    size_of,
    span_of,
    tell,
    told_figures,
)

if TYPE_CHECKING:
    from jinja2 import Environment

MOST_LISTED = 30  # events, and stories with changed figures; the others are counted

_MOST_TOLLS = 3  # of an event
_MOST_PROBLEMS = 20  # listed; the others are counted

_LIBRARY = "jsdiff-9.0.0"  # is part of the page


class Note(NamedTuple):
    """Something that a reader of the page has to know."""

    text: str
    remedy: str = ""  # what to do about it
    details: tuple[str, ...] = ()  # lines of their own


class Built(NamedTuple):
    html: str
    news: PeriodNews  # of all days
    texts: int
    notes: list[Note]


def build_report(
    gathered: Gathered,
    title: str = "",
    since: Period | None = None,
    most_bytes: int = 24_000_000,
    most_listed: int = MOST_LISTED,
) -> Built:
    """Return the page. If there is too much for one page, the page says what it left out.

    The list of items comes first, and texts fill the rest of ``most_bytes``. The page opens with the news of ``since``.
    """
    settings = gathered.settings
    preset = settings.resolved_preset()
    matches, stories = stories_of(gathered)
    tellings = {period: tell(period, stories) for period in periods_of(stories, settings.zone, since)}
    all_news = [news_of(period, told.values(), matches) for period, told in tellings.items()]
    (news,) = (each for each in all_news if each["period"] == ALL)
    room = most_bytes - 400_000  # which the page without its data takes at most
    chosen = choose_stories(stories, min(17_000_000, room))  # bytes; the texts need the rest
    payload, places = items_and_stories(chosen, gathered.rows, matches, tellings, all_news)
    # Those of the largest stories first. The text of a story's only item can be compared with nothing.
    members = (row.number for story in stories if len(story.members) > 1 for row in story.members)
    wanted = list(islice(members, 6_000))  # more are never shown side by side
    texts = gathered.texts(set(wanted))
    shown = fitting_texts(wanted, texts, places, room - size_of(payload))
    notes = notes_of(gathered, len(places), has_texts=bool(texts))
    own = "\n".join(
        _read("static", f"{name}.js") for name in "data elements differences compare stories drops page".split()
    )
    # The scripts of the report are one, in a scope of its own.
    scripts = [_read("static", "vendor", f"{_LIBRARY}.min.js"), f"(() => {{\n'use strict';\n{own}\n}})();"]
    styles = _read("static", "report.css")
    span = span_of(news["rows"])
    meta = {
        **payload,
        "texts": shown,
        "verdicts": VERDICTS,
        "measure": preset.measure,
        "relatedThreshold": preset.related_threshold if preset.measure == "containment" else 0,
        "zone": str(settings.zone),
        # When each period begins and ends; True for the whole time. JSON has no infinity.
        "periods": [each == ALL or (each.start, min(each.end, 1e12)) for each in tellings],
    }
    days = dict.fromkeys(_moment(settings.zone, second, "%Y-%m-%d") for second in span or ())
    policy = (
        f"default-src 'none'; script-src {' '.join(map(_hash, scripts))}; style-src {_hash(styles)}; img-src data:;"
        " base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'"
    )
    html = (
        load_templates(settings.zone)
        .get_template("page.html.j2")
        .render(
            title=title or (f"News of {' to '.join(days)}" if days else "News"),
            all_news=all_news,
            whole=news,
            span=span,
            figures_of=lambda story: told_figures(story, matches),
            most_tolls=_MOST_TOLLS,
            most_days=MOST_DAYS,
            day_count=len(days_of(stories, settings.zone)),
            most_listed=most_listed,
            lead_of=partial(_lead_of, texts=texts),
            notes=notes,
            places=places,
            drop_share=settings.drop_share,
            most_sources=100,
            feeds=[path.name for path in (*gathered.feeds, *gathered.dropped)],
            policy=policy,
            styles=styles,
            scripts=scripts,
            meta=inert_json(meta),
            library=_LIBRARY.replace("-", " "),
            licence=_read("static", "vendor", f"{_LIBRARY}.LICENSE"),
        )
    )
    return Built(html, news, len(shown), notes)


def build_digest(
    gathered: Gathered,
    title: str = "",
    since: Period | None = None,
    now: float | None = None,
    most_listed: int = MOST_LISTED,
) -> bytes:
    """Return the news since a time, or else of the last 24 hours, as one e-mail of plain text."""
    zone = gathered.settings.zone
    matches, stories = stories_of(gathered)
    now = now or time.time()
    day = f"{_moment(zone, now - DAY)} to {_moment(zone, now)} {datetime.fromtimestamp(now, zone):%Z}"
    span = span_of(gathered.rows)
    # Without times, everything is told.
    period = since or Period(day, now - DAY if span else -math.inf)
    message = EmailMessage(policy=default_policy)
    message["Subject"] = clean_line(title or f"News digest, {period.name}", LONGEST_NAME)
    news = news_of(period, tell(period, stories).values(), matches)
    template = load_templates(zone).get_template("digest.txt.j2")
    # The line of an event tells the figures of its last alert, if this had any.
    told = {story for story in news["events"][:most_listed] if story.last_update and story.last_update.pages}
    figures = [each for each in news["figures"] if each[0] not in told]
    known = {*news["events"], *(story for story, _ in figures)}
    others = [story for story in (*news["largest"], *news["newest"]) if story not in known]
    message.set_content(
        template.render(
            news=news,
            newest=span and span[1],
            most=most_listed,
            most_tolls=_MOST_TOLLS,
            figures=figures,
            others=others,
            unlisted=news["stories"] - sum(story.size > 1 for story in (*known, *others)),
        )
    )
    return message.as_bytes()


def _lead_of(story: FeedStory, texts: Mapping[int, str]) -> str:
    leads = (find_lead(row.title, texts[row.number]) for row in story.told[::-1][:20] if row.number in texts)
    return story.lead or next((each for each in leads if tells_headline(story.headline, each)), "")


def stories_of(gathered: Gathered) -> tuple[Matches, list[FeedStory]]:
    matches = matches_of(gathered.rows)
    stories = group_stories(gathered.rows, matches)
    add_reports(gathered.events, stories)
    return matches, stories


def _hash(content: str) -> str:
    digest = hashlib.sha256(content.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


@cache
def _read(*path: str) -> str:
    """Return a file of the package. A browser hashes a script with line feeds, so the file has no others."""
    return files("scrapy_neardup.tools.report").joinpath(*path).read_text(encoding="utf-8").replace("\r\n", "\n")


def load_templates(zone: tzinfo) -> "Environment":
    """Return templates that tell times of this zone. Raise InputError if Jinja2 is not installed."""
    jinja2 = needed("jinja2", "report")
    environment: Environment = jinja2.Environment(
        loader=jinja2.PackageLoader("scrapy_neardup.tools.report"),
        autoescape=lambda name: name is not None and name.endswith(".html.j2"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        number=lambda number: f"{number:,}",
        percent=lambda share: f"{share:.0%}",
        iso=lambda second: _moment(timezone.utc, second, "%Y-%m-%dT%H:%M:%SZ"),
        moment=partial(_moment, zone),
        # The url if a browser may follow it, "" for ``javascript:`` and everything else that is no web page.
        address=lambda url: url if re.match("https?://", url, re.IGNORECASE) else "",
    )
    environment.globals.update(counted=counted, zone=zone, most_steps=3)
    return environment


def _moment(zone: tzinfo, second: float, form: str = "%Y-%m-%d %H:%M") -> str:
    return f"{datetime.fromtimestamp(second, zone):{form}}"


def notes_of(gathered: Gathered, listed: int, *, has_texts: bool) -> list[Note]:
    """Return what is missing, the most important first.

    ``listed`` items are in the page, ``has_texts`` says whether any of their texts is.
    """
    rows = [row for row in gathered.rows if not row.is_reported]
    if not rows:
        what = "events only" if gathered.events else "no items"
        return [Note(f"The feeds hold {what}.", "Give the feed of a crawl, or the output of scrapy neardup replay.")]
    problems = gathered.problems
    unlisted = len(problems) - _MOST_PROBLEMS
    # Items with these reasons are not recorded.
    wanting = [row for row in rows if row.verdict.reason not in ("no-text", "extraction-failed", "internal-error")]
    without_document = sum(row.document < 0 for row in wanting if gathered.documents)
    untagged = sum(row.verdict.status == UNTAGGED for row in rows)
    without_time = sum(row.time is None for row in rows)
    time_field = gathered.settings.item_fields["time"]
    in_field = f" in the field {time_field!r}" if time_field else ""
    recordings = " and ".join(path.name for path in gathered.documents)
    notes = {
        Note(
            f"{counted(len(problems), 'line')} could not be read.",
            details=(*problems[:_MOST_PROBLEMS], *([f"and {unlisted:,} more"] if unlisted > 0 else ())),
        ): len(problems),
        Note(
            f"{_of(without_document, wanting)} without a document of its id or url in {recordings}.",
            "Give the recording of the same crawl (NEARDUP_RECORD) with --documents.",
        ): without_document,
        Note(
            f"{_of(untagged, rows)} without a verdict.",
            'Turn the plugin on (ADDONS = {"scrapy_neardup.Addon": 500}). Let the items take its tags: declare them '
            "with NearDupItem or NearDupFields. If you set FEED_EXPORT_FIELDS, name the tags there too. If this is a "
            "file of documents, judge them first (scrapy neardup replay INPUT -O verdicts.jsonl). Then give it with "
            "--documents.",
        ): untagged,
        Note(
            "No item has a time: there are no days to choose, and items are in the order of their feed.",
            "Let the spider fill a field with the time, and name it in NEARDUP_ITEM_FIELDS, for example with "
            """-s 'NEARDUP_ITEM_FIELDS={"time": "published"}'. Or give --documents.""",
        ): without_time == len(rows),
        Note(f"{_of(without_time, rows)} without a time{in_field}."): 0 < without_time < len(rows),
        # With documents, another note says that they are those of other items.
        Note(
            "There are no texts, so nothing can be compared side by side.",
            ""
            if gathered.documents
            else "Give the recorded documents (--documents INPUT), or let the items carry their text in the field that "
            f"NEARDUP_ITEM_FIELDS names (now {gathered.settings.item_fields['text']!r}).",
        ): not has_texts,
        Note(
            f"{listed:,} of {len(gathered.rows):,} items are listed: stories with changed or dropped items come first,"
            " then the largest, then the newest. All numbers count every item."
        ): listed < len(gathered.rows),
    }
    return [note for note, is_true in notes.items() if is_true]


def _of(number: int, among: list[Row]) -> str:
    return f"{number:,} of {counted(len(among), 'item')} {'is' if number == 1 else 'are'}"
