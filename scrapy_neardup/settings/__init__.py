"""Every ``NEARDUP_*`` setting, read and checked once."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, get_args
from zoneinfo import ZoneInfo

from scrapy_neardup.document import HOUR
from scrapy_neardup.evidence.sources import names_of, platform_of
from scrapy_neardup.exceptions import SettingsError
from scrapy_neardup.settings import values
from scrapy_neardup.settings.presets import PRESETS, Preset, preset_with
from scrapy_neardup.settings.values import ALLOWED_RULES, MIN_SOURCES, checked, hide_text, setting
from scrapy_neardup.story import LEVELS

PREFIX = "NEARDUP_"

Action = Literal["tag", "drop", "dry-run"]
Delivered = Literal["stored", "scraped"]

# The default of ``NEARDUP_DROPPED_FEED``. The path is relative to the data directory.
DEFAULT_DROPPED_FEED = "neardup-dropped/%(name)s-%(day)s.jsonl"

# The settings that say who gets events.
RECEIVERS = tuple(f"NEARDUP_EVENTS_{name}" for name in ("FEED", "WEBHOOK", "WEBHOOK_SECRET", "NOTIFY", "ATOM"))


@dataclass(frozen=True, slots=True, kw_only=True)
class NearDupSettings:
    """The settings, one attribute each: ``NEARDUP_ACTION`` is ``action``. ``docs/settings.md`` explains them.

    ``from_mapping`` checks values; the constructor does not.
    """

    enabled: bool = setting(
        True,
        values.boolean,
        """False turns the plugin off.""",
    )

    action: Action = setting(
        "tag",
        values.one_of(*get_args(Action)),
        """What happens to a duplicate. With ``'tag'`` all items are kept. With ``'drop'`` a duplicate is dropped if a
        document that is kept holds at least ``NEARDUP_DROP_SHARE`` of its text. ``'dry-run'`` tags items in a separate
        namespace, ``<NEARDUP_NAMESPACE>.dry-run``, so the live window does not change. Only the signal and
        ``NEARDUP_EVENTS_FEED`` get the events of a dry run.

        A dropped item is first written to ``NEARDUP_DROPPED_FEED``. Then the pipeline raises ``NearDuplicate``, a
        ``DropItem``. See docs/try.md.
        """,
    )

    drop_share: float = setting(
        0.7,
        values.number(float, 0, 1),
        """With ``'drop'`` a duplicate is dropped only if this share of its words is in a document that is kept. A
        higher value keeps more copies. With ``NEARDUP_KEEP_UPDATES`` the rest of the text may differ only in wording.

        Boilerplate of the item's own site does not count. If the window does not have the text of the match, the share
        is an estimate with a standard error of about 0.03. The presets ``simhash`` and ``multiref`` use the similarity
        instead of the share.
        """,
    )

    delivered: Delivered = setting(
        "stored",
        values.one_of(*get_args(Delivered)),
        """When an item counts as delivered. A later crawl treats only copies of delivered items as duplicates. See
        docs/delivery.md.

        - ``'stored'``: when each feed that contains the item is stored. Without feeds, ``'scraped'`` is used.
        - ``'scraped'``: when the item has passed all pipelines. Choose this if your own pipeline stores items.
        """,
    )

    dropped_feed: str | None = setting(
        DEFAULT_DROPPED_FEED,
        values.feed,
        """The feed that gets each dropped item, with all its tags, before it is dropped. If it cannot be written, the
        item is kept. None means no feed.

        By default there is a file in ``NEARDUP_DATA_DIR`` for each spider and day (UTC) on which a crawl begins. Pages
        crawled again with the same text are not written to it. The file is removed after 30 days.

        You can give your own uri as in ``NEARDUP_EVENTS_FEED``, with ``%(name)s``, ``%(time)s`` and ``%(day)s``. Such a
        feed gets every dropped item and is never removed.
        """,
        shown=values.hide_password,
    )

    keep_sources: frozenset[str] = setting(
        frozenset(),
        values.sources,
        """Publishers whose items are never dropped, such as ``["reuters.com", "bbc.co.uk"]``. A platform such as
        ``blogspot.com`` stands for all of its blogs.""",
    )

    record: str | None = setting(
        None,
        values.feed,
        """The feed that gets each judged document with its text, for ``replay`` and ``report``:
        ``"recorded/%(time)s.jsonl.gz"``. It is compressed by gzip unless the name ends in ``.jsonl``, ``.jl``,
        ``.ndjson`` or ``.json``. Give a uri as in ``NEARDUP_EVENTS_FEED``.

        Each document is written to the disk before it is judged. Texts are cut after 400,000 characters. Only your user
        can read the file. The plugin appends to it and never removes it.
        """,
        shown=values.hide_password,
    )

    data_dir: str | None = setting(
        None,
        values.optional(values.path("the path of a directory, or None")),
        """The directory that holds the window and the dropped items. Only your user can read it. With None it is
        ``.scrapy`` beside ``scrapy.cfg``. Without a ``scrapy.cfg``, or under scrapyd, it is ``.scrapy/<project>`` in
        the working directory. See docs/deployment.md.""",
    )

    store: str = setting(
        "sqlite:///neardup.sqlite",
        values.store,
        """Where the window and the boilerplate of each site are kept.

        - ``sqlite:///path``: a file for all processes of a machine. A relative path begins at ``NEARDUP_DATA_DIR``. An
          absolute path has four slashes: ``sqlite:////var/lib/neardup.sqlite``.
        - ``redis://``, ``rediss://``, ``unix://``, ``redis+cluster://``: any number of machines can share it. See
          docs/redis.md.
        - ``memory://``: the window is lost when the process ends.
        """,
        shown=values.hide_password,
    )

    keep_texts: bool = setting(
        True,
        values.boolean,
        """With True the window also keeps the text of each document, up to 20,000 characters, compressed. With False
        the window takes a third less memory, but no change is reported, and only identical copies are dropped. See
        docs/howto/purge.md#without-texts.""",
    )

    namespace: str = setting(
        "default",
        values.matching(r"[A-Za-z0-9_.-]{1,64}", "1 to 64 of A-Z a-z 0-9 _ . -"),
        """Crawls with the same namespace and store share a window, unless their settings make different fingerprints.
        See docs/versions.md.""",
    )

    window: int = setting(
        24 * HOUR,
        values.number(int, 2 * HOUR, 31 * 24 * HOUR, unit=" seconds (2 hours to 31 days)"),
        """A document is compared with the documents of this many seconds before it. See docs/howto/window.md.""",
    )

    preset: str = setting(
        "news",
        values.one_of(*PRESETS),
        """The method of detection. See docs/choosing-a-preset.md.""",
    )

    preset_options: dict[str, Any] = setting(
        {},
        values.preset_options,
        """Values that replace parameters of the preset. See docs/choosing-a-preset.md#parameters.""",
    )

    keep_updates: bool = setting(
        True,
        values.boolean,
        """With True a copy with changed figures is an ``update``, and so is a page that comes again with another text.
        A copy is dropped only if the kept text says everything that the copy says. With False updates are duplicates
        if the texts are alike enough. Then the share alone decides which duplicates are dropped.""",
    )

    min_words: int = setting(
        20,
        values.number(int, 1, 10_000),
        """A text with fewer words is ``unchecked`` with the reason ``too-short``, unless the window has the same text.
        In writing systems without spaces, two characters count as a word. If too few words are left after the
        boilerplate is removed, the reason is ``boilerplate``.""",
    )

    item_fields: dict[str, str | None] = setting(
        values.ITEM_FIELDS,
        values.item_fields,
        """Which item field holds each part of a document. Name only fields that differ from the default: ``{"text":
        "body", "time": "published"}``. If the field is None, the part is not read.

        - ``text``: if an item has a text, this text is judged, and the page is not extracted. If the item lacks this
          field, ``articleBody``, ``headline`` and ``inLanguage`` are read (names of zyte-common-items).
        - ``url``: decides whether the page's text belongs to the item. See
          docs/how-it-works.md#which-text-belongs-to-an-item.
        - ``title``: the default is the title of the page.
        - ``language``: a code such as ``pt-BR``. The default is the language that the page names. If title and text are
          clearly in another language, that language counts.
        - ``section``: a name such as ``Sports``. The default is the section that the page or its url names.
        - ``publisher``: a name, domain or url. See docs/how-it-works.md#sources.
        - ``time``: when the document was seen, as a ``datetime`` or ``struct_time``, Unix seconds, ISO 8601 or
          RFC 822. The default is the time of the check. A time without a zone is UTC. If a time cannot be read or is
          in the future, the current time is used. See docs/howto/publication-time.md.
        """,
    )

    item_classes: tuple[str | type, ...] = setting(
        (),
        values.list_of(lambda each: isinstance(each, str | type), "a list of item classes or of their import paths"),
        """The classes of the items that are judged, or their import paths. Other items pass unchanged. With an empty
        list all items are judged.""",
    )

    extractor: str | None = setting(
        "trafilatura",
        values.optional(values.matching(r"[\w.-]+", "the name or import path of an extractor, or None")),
        """The extractor, which finds the main content of a page: ``'trafilatura'``, ``'resiliparse'`` (eight times as
        fast; run ``pip install "resiliparse>=2"``), or the import path of a callable ``(html: str, url: str) -> str``.
        If None, no page is read, so each item must have its own text.

        See docs/benchmarks.md#extraction. If resiliparse finds fewer than 20 words in a page, trafilatura reads the
        page.

        If you change the extractor, or the version of trafilatura or resiliparse, the window starts empty. See
        docs/versions.md.
        """,
    )

    extract_workers: int = setting(
        1,
        values.number(int, 1, 256),
        """How many worker processes extract pages. There is at most one for each core that the crawl may use.

        Worker processes import your extractor by its path. So it must be in a module, and cannot use objects of the
        spider. If it needs such objects, let the spider put the text into the item (``NEARDUP_ITEM_FIELDS``).
        """,
    )

    extract_timeout: float = setting(
        10.0,
        values.number(float, 0.01, HOUR, unit=" seconds"),
        """How many seconds the extraction of a page may take. A page that takes longer, or is over 5 MB, is
        ``unchecked`` with the reason ``extraction-failed``. An item waits no longer than this for earlier items.

        If the CPU time of a page is over a fifth of this, the next 50 pages of its source are
        ``extraction-failed``. So a hostile site cannot stall a crawl of several sources. Your own extractor gets
        all pages.
        """,
    )

    store_timeout: float = setting(
        2.0,
        values.number(float, 0.01, 600, unit=" seconds"),
        """How many seconds to wait for an answer from the store. After that the store counts as lost. Until it is back,
        items pass at full speed as ``unchecked`` with the reason ``store-unavailable``.""",
    )

    embedder: str | None = setting(
        None,
        values.optional(values.matching(r"\w+(\.\w+)+", "the import path of a callable or class, or None")),
        """A language model of your own. It helps to find reports of an event that use other words or another language.
        See docs/howto/embedder.md.""",
    )

    event_rule: str = setting(
        "sources",
        values.matching(r"[\w.]+", ALLOWED_RULES),
        """The rule that makes a story an event: ``'sources'`` (many new independent sources in a short time),
        ``'count'`` (more than 15 items within 4 hours), or the import path of your own. See docs/events.md#rules.""",
    )

    events_per_day: float = setting(
        17.0,
        values.number(float, 0, 1_000_000),
        """About how many ``breaking`` events per day the rule ``sources`` may raise. If there were more in the last 7
        days, an event needs more sources. See docs/events.md#rules.""",
    )

    events_min_sources: int = setting(
        MIN_SOURCES,
        values.number(int, 2, 1000),
        """How many new independent sources a ``breaking`` event needs within 40 minutes. Within an hour it needs one
        more. ``NEARDUP_EVENTS_PER_DAY`` may raise both numbers. A team that crawls only six sites sets this to 3. See
        docs/events.md#rules.""",
    )

    events_timezone: str = setting(
        "UTC",
        values.zone_name,
        """The time zone of messages and of other texts for people. Times in the JSON of an event are always in UTC.""",
    )

    source_owners: dict[str, str] = setting(
        {},
        values.owners,
        """For events, all sources of the same owner count as one. A source that is not listed is its own owner.
        docs/how-it-works.md#sources has the exceptions.

        For listed sources, events use the times in ``NEARDUP_ITEM_FIELDS``: see docs/events.md#how-long-a-story-lives.
        """,
    )

    events_feed: str | None = setting(
        None,
        values.feed,
        """A feed that gets events as JSON lines. Give a path, to which lines are appended, or a uri of any storage
        that Scrapy knows, such as ``s3://``, ``ftp://`` or ``stdout:``. ``%(name)s`` stands for the name of the spider,
        and ``%(time)s`` for the time.
        """,
        shown=values.hide_password,
    )

    events_webhook: str | None = setting(
        None,
        values.optional(values.matching(r"https?://[^/\s]+\S*", "an http or https url, or None")),
        """A url to which each event is sent as a JSON POST. If the receiver does not accept an event, this crawl or the
        next one sends it again. An event may arrive twice, with the same ``id``. See docs/events.md#delivery.

        Write user and password into the url, because a ``.netrc`` is not read. Proxies are read from the environment.
        Certificates are those of the system or of ``SSL_CERT_FILE``.
        """,
        shown=values.hide,
    )

    events_webhook_secret: str | None = setting(
        None,
        values.optional(values.matching(r".+", "a text of one line, or None")),
        """A secret that signs each POST. The header ``X-Neardup-Signature`` is then ``sha256=``, followed by the
        hexadecimal HMAC-SHA256 of the body.""",
        shown=values.hide,
    )

    events_notify: tuple[str, ...] = setting(
        (),
        values.services,
        """Services, such as chats and mailboxes, that get a message about each event. Give their urls for
        [Apprise](https://appriseit.com/services/): ``["slack://…", "mailto://…"]``. Run ``pip install apprise`` first.
        See docs/howto/alerts.md.""",
        shown=values.hide,
    )

    events_atom: str | None = setting(
        None,
        values.optional(values.path("the path of a file, or None"), ""),
        """An Atom file with the newest 100 events, for feed readers: ``"/var/www/html/events.xml"``. Each event
        replaces the whole file.""",
    )

    events_levels: tuple[str, ...] = setting(
        LEVELS,
        values.some_of(*LEVELS),
        """Which event levels the webhook, the services and the Atom file get, such as ``["breaking"]``. The event
        feed and the signal get all levels.""",
    )

    events_sections: tuple[str, ...] = setting(
        values.SECTIONS,
        values.some_of(*values.SECTIONS),
        """From which sections the webhook, the services and the Atom file get events. They also get events without a
        section. An event has the section that at least half of its pages name.
        """,
    )

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> "NearDupSettings":
        """Read ``NEARDUP_*`` keys. Raise SettingsError if a key is no setting, or if its value is not allowed."""
        known = {PREFIX + each.name.upper(): each for each in fields(cls)}
        for name in values:
            if isinstance(name, str) and name.startswith(PREFIX) and name not in known:
                import difflib  # only a wrong name needs it

                near = difflib.get_close_matches(name[len(PREFIX) :], [each[len(PREFIX) :] for each in known], 1)
                meant = "".join(f"; is it {PREFIX}{each}?" for each in near)
                raise SettingsError(name, hide_text(values[name]), f"no such setting{meant}")
        given = {each.name: checked(each, name, values[name]) for name, each in known.items() if name in values}
        if "event_rule" not in given and "preset" in given:
            given["event_rule"] = PRESETS[given["preset"]].event_rule
        settings = cls(**given)
        settings.resolved_preset()  # raises if two parameters do not go together
        return settings

    @property
    def zone(self) -> ZoneInfo:
        """Return the time zone of texts for people."""
        return ZoneInfo(self.events_timezone)

    def feeds(self) -> dict[str, str]:
        """Return the uri of each feed that is set, by the name of its setting."""
        uris = {PREFIX + name.upper(): getattr(self, name) for name in ("dropped_feed", "events_feed", "record")}
        return {name: uri for name, uri in uris.items() if uri is not None}

    def resolved_preset(self) -> Preset:
        """Return the preset with the parameters that the user set."""
        return preset_with(self.preset, self.preset_options)

    @property
    def window_namespace(self) -> str:
        """Return the namespace of the window. A dry run has its own, so that it leaves the live window as it is."""
        return f"{self.namespace}.dry-run" if self.action == "dry-run" else self.namespace

    def owner_of(self, source: str) -> str:
        """Return who runs a source: the owner named for it or its platform, else the platform or the source itself."""
        named = (self.source_owners[name] for name in names_of(source) if name in self.source_owners)
        return next(named, platform_of(source))
