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
        document that is kept holds at least ``NEARDUP_DROP_SHARE`` of its text. ``'dry-run'`` is ``'tag'`` for a trial.
        It uses the namespace ``<NEARDUP_NAMESPACE>.dry-run``, so the live window stays as it is. Only the signal and
        ``NEARDUP_EVENTS_FEED`` get its events.

        A dropped item is first written to ``NEARDUP_DROPPED_FEED``. Then the pipeline raises ``NearDuplicate``, a
        ``DropItem``. See docs/try.md.
        """,
    )

    drop_share: float = setting(
        0.7,
        values.number(float, 0, 1),
        """With ``'drop'`` a duplicate is dropped only if this share of its words is in a document that is kept. A
        higher value keeps more copies. With ``NEARDUP_KEEP_UPDATES`` the rest may differ only in wording.

        Boilerplate of the item's own site does not count. If the window lacks a text, the share is an estimate with a
        standard error of about 0.03. The presets ``simhash`` and ``multiref`` use the similarity instead.
        """,
    )

    delivered: Delivered = setting(
        "stored",
        values.one_of(*get_args(Delivered)),
        """When an item counts as delivered. A later crawl treats only copies of delivered items as duplicates. See
        docs/delivery.md.

        - ``'stored'``: when each feed that holds the item is stored; if there are no feeds, when it is scraped.
        - ``'scraped'``: when it has passed all item pipelines. Choose this if your own pipeline stores items.
        """,
    )

    dropped_feed: str | None = setting(
        DEFAULT_DROPPED_FEED,
        values.feed,
        """The feed that gets each dropped item, with all its tags, before it is dropped. If it cannot be written, the
        item is kept. None means no feed.

        The default is a file in ``NEARDUP_DATA_DIR`` for each spider and day (UTC) on which a crawl begins. It leaves
        out pages that came again with the same text, and is removed after 30 days. A feed that you name is a uri as in
        ``NEARDUP_EVENTS_FEED``, with ``%(name)s``, ``%(time)s`` and ``%(day)s``. It gets every dropped item and is
        never removed.
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
        ``"recorded/%(time)s.jsonl.gz"``. It is packed with gzip unless the name ends in ``.jsonl``, ``.jl``,
        ``.ndjson`` or ``.json``. The uri is as in ``NEARDUP_EVENTS_FEED``.

        Each document is on the disk before it is judged. Texts are cut after 400,000 characters. Only your user can
        read the file. The plugin appends to it and never removes it. See docs/try.md.
        """,
        shown=values.hide_password,
    )

    data_dir: str | None = setting(
        None,
        values.optional(values.path("the path of a directory, or None")),
        """The directory of the window and the dropped items, which only your user can read. With None it is ``.scrapy``
        beside ``scrapy.cfg``. Without a ``scrapy.cfg``, and under scrapyd, it is ``.scrapy/<project>`` in the working
        directory. ``<project>`` is scrapyd's name of the project, or else ``BOT_NAME``. See docs/deployment.md.""",
    )

    store: str = setting(
        "sqlite:///neardup.sqlite",
        values.store,
        """Where the window and the learned text of each site are kept.

        - ``sqlite:///path``: a file for all processes of a machine. A relative path is in ``NEARDUP_DATA_DIR``. An
          absolute one has four slashes: ``sqlite:////var/lib/neardup.sqlite``.
        - ``redis://``, ``rediss://``, ``unix://``, ``redis+cluster://``: any number of machines share it. See
          docs/redis.md.
        - ``memory://``: forgotten when the process ends.
        """,
        shown=values.hide_password,
    )

    keep_texts: bool = setting(
        True,
        values.boolean,
        """With True the window keeps the first 20,000 characters of each text, packed, as long as the document. With
        False it takes a third less memory, but no change is reported, and only identical copies are dropped. See
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
        """How far back a document is compared. See docs/howto/window.md.""",
    )

    preset: str = setting(
        "news",
        values.one_of(*PRESETS),
        """The method of detection. See docs/choosing-a-preset.md.""",
    )

    preset_options: dict[str, Any] = setting(
        {},
        values.preset_options,
        """Values that replace parameters of the preset, such as ``{"threshold": 0.5}``. See
        docs/choosing-a-preset.md#parameters. On the command line give JSON: ``-s 'NEARDUP_PRESET_OPTIONS={"threshold":
        0.5}'``.""",
    )

    keep_updates: bool = setting(
        True,
        values.boolean,
        """With True a copy whose figures changed, or a page that comes again with another text, is an ``update``. A
        copy is dropped only if the kept text says everything that the copy says. With False all of these are duplicates
        if they are alike enough, and the share alone decides what is dropped.""",
    )

    min_words: int = setting(
        20,
        values.number(int, 1, 10_000),
        """Shorter texts are ``unchecked`` with the reason ``too-short``, unless the window holds the same text. In
        scripts without spaces two characters count as a word. If too few words are left without the boilerplate, the
        reason is ``boilerplate``.""",
    )

    item_fields: dict[str, str | None] = setting(
        values.ITEM_FIELDS,
        values.item_fields,
        """The item fields that hold the parts of a document. Name only fields that differ: ``{"text": "body", "time":
        "published"}``. A part with the field None is not read.

        - ``text``: an item with a text is judged by it, and its page is not extracted. Without one, ``articleBody``,
          ``headline`` and ``inLanguage`` are read, as zyte-common-items name them.
        - ``url``: says whether the page's text belongs to the item. See
          docs/how-it-works.md#which-text-belongs-to-an-item.
        - ``title``: default: the title of the page.
        - ``language``: a code such as ``pt-BR``; default: the language that the page names. If title and text are
          clearly in another language, that language counts.
        - ``section``: such as ``Sports``; default: what the page says, or its url.
        - ``publisher``: a name, domain or url. See docs/how-it-works.md#sources.
        - ``time``: when the document was seen, as a ``datetime`` or ``struct_time``, Unix seconds, ISO 8601 or
          RFC 822; default: the time of the check. Without a zone it is UTC. A wrong time, or one in the future, counts
          as now. See docs/howto/publication-time.md.
        """,
    )

    item_classes: tuple[str | type, ...] = setting(
        (),
        values.list_of(str | type, "a list of item classes or of their import paths"),
        """The only item classes (or import paths of classes) that are judged. Others pass unchanged. An empty list
        means all.""",
    )

    extractor: str | None = setting(
        "trafilatura",
        values.optional(values.matching(r"[\w.]+", "the name or import path of an extractor, or None")),
        """What finds the main content of a page: ``'trafilatura'``, ``'resiliparse'`` (eight times as fast; run ``pip
        install "resiliparse>=2"``), or the import path of a callable ``(html: str, url: str) -> str``. With None no
        page is read: each item must have its own text.

        86 % of the text that resiliparse finds is the article, and 95 % of the text that trafilatura finds. Both find
        98 % of the article. If resiliparse finds fewer than 20 words in a page, trafilatura reads it.

        Another extractor, or another version of one of these two, begins an empty window. See docs/versions.md.
        """,
    )

    extract_workers: int = setting(
        1,
        values.number(int, 1, 256),
        """How many worker processes extract pages: at most one for each core that the crawl may use. One process starts
        with the crawl, unless ``NEARDUP_EXTRACTOR`` is None. The others start with the first pages.

        A process imports your extractor by its path, so the extractor must be in a module, and shares no objects with
        the spider. If it needs such objects, let the spider put the text into the item (``NEARDUP_ITEM_FIELDS``).
        """,
    )

    extract_timeout: float = setting(
        10.0,
        values.number(float, 0.01, HOUR, unit=" seconds"),
        """Seconds for one page. A page that takes longer, or is over 5 MB, is ``unchecked`` with the reason
        ``extraction-failed``. Items of later responses wait no longer than this for an earlier response.

        After a page that exceeds a fifth of this time, in CPU seconds, the next 50 pages of its source are
        ``extraction-failed`` too. So no hostile site can stall a crawl of several sources. This does not hold for the
        first page of a process, or for your own extractor.
        """,
    )

    store_timeout: float = setting(
        2.0,
        values.number(float, 0.01, 600, unit=" seconds"),
        """Seconds to wait for the store. Then the store counts as lost. Until it is back, items pass at full speed as
        ``unchecked`` with the reason ``store-unavailable``.""",
    )

    embedder: str | None = setting(
        None,
        values.optional(values.matching(r"\w+(\.\w+)+", "the import path of a callable or class, or None")),
        """A language model of your own, which helps to find reports of one event in other words and in other languages.
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
        """About how many ``breaking`` events a day the rule ``sources`` may raise. If the last 7 days had
        more, the rule asks for more sources. See docs/events.md#rules.""",
    )

    events_min_sources: int = setting(
        MIN_SOURCES,
        values.number(int, 2, 1000),
        """How many new independent sources a ``breaking`` event needs within 40 minutes. Within an hour it needs one
        more. ``NEARDUP_EVENTS_PER_DAY`` may raise both. A team with six sites sets 3. See docs/events.md#rules.""",
    )

    events_timezone: str = setting(
        "UTC",
        values.zone_name,
        """The time zone of messages and of other texts for people. Times in the keys of a report stay in UTC.""",
    )

    source_owners: dict[str, str] = setting(
        {},
        values.owners,
        """Sources of one owner count once for events. Map owners to sources, ``{"Press Ltd": ["a.example",
        "b.example"]}``. A source that is not listed is its own owner, except as docs/how-it-works.md#sources says.

        If ``NEARDUP_ITEM_FIELDS`` names a time, events use the times that the pages of listed sources give. For all
        other sources, events use the time when the page was seen.
        """,
    )

    events_feed: str | None = setting(
        None,
        values.feed,
        """A feed of events as JSON lines: a path, to which lines are appended, or a uri of any storage that Scrapy
        knows, such as ``s3://``, ``ftp://`` or ``stdout:``. ``%(name)s`` and ``%(time)s`` stand for spider and time.
        """,
        shown=values.hide_password,
    )

    events_webhook: str | None = setting(
        None,
        values.optional(values.matching(r"https?://[^/\s]+\S*", "an http or https url, or None")),
        """A url that gets each event as a JSON POST. An event that the receiver does not take is tried again, also by
        the next crawl. It may arrive twice, with the same ``id``. See docs/events.md#delivery.

        Write user and password into the url: a ``.netrc`` is not read. The proxies of the environment are used, and the
        certificates of the system or of ``SSL_CERT_FILE``.
        """,
        shown=values.hide,
    )

    events_webhook_secret: str | None = setting(
        None,
        values.optional(values.matching(r".+", "a text of one line, or None")),
        """A secret that signs each POST: ``X-Neardup-Signature`` is then ``sha256=`` and the hexadecimal HMAC-SHA256 of
        the body.""",
        shown=values.hide,
    )

    events_notify: tuple[str, ...] = setting(
        (),
        values.services,
        """Chats, mailboxes and other services that get a message about each event, as urls of
        [Apprise](https://appriseit.com/services/): ``["slack://…", "mailto://…"]``. Run ``pip install apprise`` first.
        See docs/howto/alerts.md.""",
        shown=values.hide,
    )

    events_atom: str | None = setting(
        None,
        values.optional(values.path("the path of a file, or None"), ""),
        """An Atom file of the newest 100 events, for feed readers: ``"/var/www/html/events.xml"``. It is replaced as a
        whole with each event. See docs/howto/alerts.md#a-feed-reader.""",
    )

    events_levels: tuple[str, ...] = setting(
        LEVELS,
        values.some_of(*LEVELS),
        """Which levels the webhook, the services and the Atom file get, such as ``["breaking"]``. The feed of JSON
        lines and the signal get all.""",
    )

    events_sections: tuple[str, ...] = setting(
        values.SECTIONS,
        values.some_of(*values.SECTIONS),
        """The sections whose events the webhook, services and Atom file get. They also get events without a section.

        The section of an event is the one that most pages, or their addresses such as ``/deportes/``, name.
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
