"""Every ``NEARDUP_*`` setting, read and checked once."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import Field, dataclass, field, fields
from datetime import datetime
from os import PathLike
from types import UnionType
from typing import Any, Literal, get_args
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from scrapy_neardup.content import Sketching, platform_of, require_domain
from scrapy_neardup.document import TAGS, without_password
from scrapy_neardup.evidence.minima import SET_MEASURES
from scrapy_neardup.exceptions import SettingsError
from scrapy_neardup.index import ALLOWED_STORES, Policy, Scope, check_url
from scrapy_neardup.rules.policy import names_of
from scrapy_neardup.sketch import FACTORY, PRESETS, Preset, SketchOptions, ahead_options
from scrapy_neardup.sketch.signatures import signer_for
from scrapy_neardup.sketch.signatures.presets import option_name, preset_with
from scrapy_neardup.stories import ALLOWED_RULES
from scrapy_neardup.stories.rules import MIN_SOURCES

PREFIX = "NEARDUP_"

Action = Literal["tag", "drop"]
Delivered = Literal["stored", "scraped"]
OnStoreError = Literal["keep", "close"]

DEFAULT_DROPPED_FEED = "neardup-dropped/%(name)s-%(day)s.jsonl"
"""The default of ``NEARDUP_DROPPED_FEED``. The path is relative to the data directory."""

ITEM_FIELDS: dict[str, str | None] = {
    "text": "text",
    "url": "url",
    "title": "title",
    "language": "language",
    "time": None,
}
"""The item field in which each part of a document is looked for."""

_BOOLEANS = {
    **dict.fromkeys(("1", "true", "yes", "on"), True),
    **dict.fromkeys(("0", "false", "no", "off", ""), False),
}

_WRITTEN_NONE = ("None", "null")  # on the command line
_ALLOWED_STREAMS = "the name of a stream in the store's Redis, or redis://host/0#name"
_SECRET_NAME = re.compile("SECRET?S?|PASSWORD|TOKEN")  # an unknown name may be a misspelt one

Check = Callable[[Any], Any]
"""Takes the value that a user gave, and returns the value that is used. Raises ValueError to say what is allowed."""


def _boolean(value: Any) -> bool:
    text = str(value).strip().lower()
    if not isinstance(value, str | bool | int) or text not in _BOOLEANS:
        raise ValueError("must be True or False")
    return _BOOLEANS[text]


def _one_of(*allowed: str) -> Check:
    def check(value: Any) -> str:
        if value not in allowed:
            raise ValueError(f"must be one of {', '.join(map(repr, allowed))}")
        return str(value)

    return check


def _number(kind: type[int] | type[float], low: float, high: float, *, or_auto: bool = False, unit: str = "") -> Check:
    """Return the check of a number. ``unit`` is shown behind the limits."""
    allowed = f"must be {'a whole number' if kind is int else 'a number'} from {low} to {high}{unit}"

    def check(value: Any) -> int | float | str:
        if or_auto and value == "auto":
            return "auto"
        try:
            number = kind(value)
            exact = not isinstance(value, bool) and number == float(value)
        except (TypeError, ValueError, OverflowError):
            exact = False
        if not exact or not low <= number <= high:
            raise ValueError(f"{allowed}, or 'auto'" if or_auto else allowed)
        return number

    return check


def _optional(check: Check) -> Check:
    return lambda value: None if value in (None, *_WRITTEN_NONE) else check(value)


def _from_json(value: Any) -> Any:
    """Return a list or mapping that was written as JSON, as on the command line. Other values stay as they are."""
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        try:
            return json.loads(value)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"is not JSON ({error})") from None
    return value


def _text(pattern: str, allowed: str) -> Check:
    def check(value: Any) -> str:
        if not isinstance(value, str) or not re.fullmatch(pattern, value):
            raise ValueError(f"must be {allowed}")
        return value

    return check


def _store(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(ALLOWED_STORES)
    check_url(value)
    return value


def _list(value: Any, kinds: type | UnionType, allowed: str) -> list[Any]:
    """Return the members of a list, or of a text with commas between them."""
    value = _from_json(value)
    items = value.split(",") if isinstance(value, str) else value
    if not isinstance(items, list | tuple | set | frozenset) or not all(isinstance(each, kinds) for each in items):
        raise ValueError(f"must be {allowed}")
    stripped = [each.strip() if isinstance(each, str) else each for each in items]
    return [each for each in stripped if each != ""]


def _item_classes(value: Any) -> tuple[str | type, ...]:
    return tuple(_list(value, str | type, "a list of item classes or of their import paths"))


def _words(value: Any) -> tuple[str, ...]:
    return tuple(sorted(set(_list(value, str, "a list of words"))))


def _field_names(value: Any) -> dict[str, str]:
    """Return the field of each tag. A list selects tags; a mapping selects and renames them."""
    allowed = f"a list of tags, or map tags to names: {', '.join(TAGS)}"
    value = _from_json(value)
    names = dict(value) if isinstance(value, Mapping) else {tag: tag for tag in _list(value, str, allowed)}
    if unknown := [tag for tag in names if tag not in TAGS]:
        raise ValueError(f"{unknown[0]!r} is not a tag; must be {allowed}")
    if not names or not all(isinstance(target, str) and target for target in names.values()):
        raise ValueError(f"must be {allowed}")
    if len(set(names.values())) < len(names):
        raise ValueError("two tags cannot share one field")
    return names


def _item_fields(value: Any) -> dict[str, str | None]:
    """Return the item field of each part of a document. Parts that are not given keep their usual fields."""
    allowed = f"must map {', '.join(ITEM_FIELDS)} to names of item fields, or to None"
    value = _from_json(value)
    if not isinstance(value, Mapping) or not all(isinstance(each, str | None) for each in value.values()):
        raise ValueError(allowed)
    if unknown := [part for part in value if part not in ITEM_FIELDS]:
        raise ValueError(f"{unknown[0]!r} is no part of a document; {allowed}")
    return {**ITEM_FIELDS, **value}


def _sources(value: Any) -> frozenset[str]:
    """Return sources, from domains or urls of them."""
    return frozenset(map(require_domain, _list(value, str, "a list of domains such as 'example.com'")))


def _webhook_format(value: Any) -> str:
    from scrapy_neardup.stories.messages import check_format

    return check_format(value)


def _owners(value: Any) -> dict[str, str]:
    from scrapy_neardup.stories.owners import ALLOWED_OWNERS, read_owners

    try:
        return read_owners(_from_json(value), require_domain)
    except ValueError as error:
        raise ValueError(f"{error}; must be {ALLOWED_OWNERS}") from None


_HOURS = "(?:[01][0-9]|2[0-3]):[0-5][0-9]-(?:[01][0-9]|2[0-3]):[0-5][0-9]"


def _zone_name(value: Any) -> str:
    try:
        return ZoneInfo(value).key
    except (ValueError, OSError, TypeError, ZoneInfoNotFoundError):
        known = "a time zone such as 'Europe/Berlin'; a system without time zones needs pip install tzdata"
        raise ValueError(f"must be {known}") from None


def _path(allowed: str) -> Check:
    def check(value: Any) -> str:
        if not isinstance(value, str | PathLike) or not str(value):
            raise ValueError(f"must be {allowed}")
        return str(value)

    return check


def _feed(value: Any) -> str | None:
    """Return the URI of a feed. None means no feed, and so do the ways to write None on the command line."""
    return None if value in (None, "", *_WRITTEN_NONE) else str(_path("the URI of a feed, or None")(value))


Shown = Callable[[str, Any], Any]
"""Takes the name and the value of a setting, and returns the value in a form that messages may show."""


def _without_secrets(name: str, value: Any) -> Any:
    """Return a value that may be secret in a form that messages may show: at most the scheme of a url."""
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
    if not isinstance(text, str):
        return value if isinstance(value, bool | int | float | None) and not _SECRET_NAME.search(name) else "***"
    scheme, separator, _ = text.partition("://")
    if separator and re.fullmatch(r"[\w+.-]*", scheme):
        return f"{scheme}://***"
    return "***" if _SECRET_NAME.search(name) or re.search("[:@/]", text) else text


def _without_password(name: str, value: Any) -> Any:
    is_url = isinstance(value, str) and ("://" in value or "@" not in value)
    return without_password(value) if is_url else _without_secrets(name, value)


def _setting(default: Any, check: Check, shown: Shown | None = None) -> Any:
    """Return the field of a setting. A default that is a mapping is copied for each object."""
    given: Any = {"default_factory": default.copy} if isinstance(default, dict) else {"default": default}
    return field(**given, metadata={"check": check, "shown": shown}, repr=shown is None)


def _checked(each: Field[Any], name: str, value: Any) -> Any:
    try:
        return each.metadata["check"](value)
    except SettingsError:  # it names a part of the value
        raise
    except ValueError as error:
        shown: Shown | None = each.metadata["shown"]
        raise SettingsError(name, shown(name, value) if shown else value, str(error)) from None


_PRESET_OPTIONS: dict[str, Check] = {
    "num_perm": _number(int, 5, 512),
    "bands": _number(int, 1, 256, or_auto=True),
    "rows": _number(int, 1, 64),
    "shingle_words": _number(int, 1, 20),
    "shingle_characters": _number(int, 1, 50),
    "threshold": _number(float, 0.05, 1),
    "related_threshold": _number(float, 0.01, 1),
    "topic_threshold": _number(float, 0.05, 1),
    "names": _boolean,
    "measure": _one_of(*SET_MEASURES),
    "stemming": _text(r"[a-z]+", "a language of Snowball, as 'english'"),
    "stop_words": _words,
    "heaviest_terms": _number(int, 0, 1_000_000),
    "common_share": _number(float, 0, 0.5),
    "sample": _number(int, 0, 1_000_000),
    "lead_share": _number(float, 0.01, 1),
    "collisions": _number(int, 0, 511),
    "features": _text(r"\w+(\.\w+)+", "the import path of a callable"),
    "reference": _text(r".+", "the path of a reference file"),
    "min_block_words": _number(int, 0, 1000),
}


def _preset_options(value: Any) -> dict[str, Any]:
    value = _from_json(value)
    if not isinstance(value, Mapping):
        raise ValueError('must map parameters of the preset to values, as {"threshold": 0.5}')
    checked = {}
    for name, given in value.items():
        if name not in _PRESET_OPTIONS:
            raise ValueError(f"{name!r} is no parameter; must be among {', '.join(_PRESET_OPTIONS)}")
        try:
            checked[name] = _PRESET_OPTIONS[name](given)
        except ValueError as error:
            raise SettingsError(option_name(name), given, str(error)) from None
    return checked


@dataclass(frozen=True, slots=True, kw_only=True)
class NearDupSettings:
    """The settings, one attribute each: ``NEARDUP_ACTION`` is ``action``. ``docs/settings.md`` explains them.

    ``from_mapping`` checks values; the constructor does not.
    """

    enabled: bool = _setting(True, _boolean)
    action: Action = _setting("tag", _one_of(*get_args(Action)))
    dry_run: bool = _setting(False, _boolean)
    drop_share: float = _setting(0.7, _number(float, 0, 1))
    delivered: Delivered = _setting("stored", _one_of(*get_args(Delivered)))
    dropped_feed: str | None = _setting(DEFAULT_DROPPED_FEED, _feed, _without_password)
    keep_sources: frozenset[str] = _setting(frozenset(), _sources)
    record: str | None = _setting(None, _feed, _without_password)
    data_dir: str | None = _setting(None, _optional(_path("the path of a directory, or None")))
    store: str = _setting("sqlite:///neardup.sqlite", _store, _without_password)
    namespace: str = _setting("default", _text(r"[A-Za-z0-9_.-]{1,64}", "1 to 64 of A-Z a-z 0-9 _ . -"))
    window: int = _setting(24 * 3600, _number(int, 7200, 31 * 24 * 3600, unit=" seconds (2 hours to 31 days)"))
    preset: str = _setting("news", _one_of(*PRESETS))
    preset_options: dict[str, Any] = _setting({}, _preset_options)
    scope: Scope = _setting("all", _one_of(*get_args(Scope)))
    keep_updates: bool = _setting(True, _boolean)
    min_words: int = _setting(20, _number(int, 1, 10_000))
    item_fields: dict[str, str | None] = _setting(ITEM_FIELDS, _item_fields)
    item_classes: tuple[str | type, ...] = _setting((), _item_classes)
    fields: dict[str, str] = _setting({tag: tag for tag in TAGS}, _field_names)
    extractor: str = _setting("trafilatura", _text(r"[\w.]+", "the name or import path of an extractor"))
    extract_workers: int | Literal["auto"] | None = _setting(None, _optional(_number(int, 0, 256, or_auto=True)))
    extract_timeout: float = _setting(10.0, _number(float, 0.01, 3600, unit=" seconds"))
    extract_memory: int | None = _setting(2_000_000_000, _optional(_number(int, 10_000_000, 10**15, unit=" bytes")))
    max_html_bytes: int = _setting(5_000_000, _number(int, 1, 1 << 31, unit=" bytes"))
    on_store_error: OnStoreError = _setting("keep", _one_of(*get_args(OnStoreError)))
    store_timeout: float = _setting(2.0, _number(float, 0.01, 600, unit=" seconds"))
    event_rule: str = _setting("sources", _text(r"[\w.]+", ALLOWED_RULES))
    events_per_day: float = _setting(17.0, _number(float, 0, 1_000_000))
    events_min_sources: int = _setting(MIN_SOURCES, _number(int, 2, 1000))
    events_timezone: str = _setting("UTC", _zone_name)
    events_quiet: str | None = _setting(None, _optional(_text(_HOURS, "hours such as '22:00-07:00', or None")))
    source_owners: dict[str, str] = _setting({}, _owners)
    events_feed: str | None = _setting(None, _optional(_text(r".+", "the URI of a feed, or None")), _without_password)
    events_stream: str | None = _setting(None, _optional(_text(r".+", _ALLOWED_STREAMS)), _without_password)
    events_webhook: str | None = _setting(
        None, _optional(_text(r"https?://[^/\s]+\S*", "an http or https url, or None")), _without_secrets
    )
    events_webhook_format: str = _setting("plain", _webhook_format)
    events_webhook_secret: str | None = _setting(
        None, _optional(_text(r".+", "a text of one line, or None")), _without_secrets
    )

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> NearDupSettings:
        """Read ``NEARDUP_*`` keys. Raise SettingsError if a key is no setting, or if its value is not allowed."""
        known = _names()
        for name in values:
            if isinstance(name, str) and name.startswith(PREFIX) and name not in known:
                if name[len(PREFIX) :].lower() in _PRESET_OPTIONS:
                    meant = f'no such setting; set NEARDUP_PRESET_OPTIONS = {{"{name[len(PREFIX) :].lower()}": ...}}'
                    raise SettingsError(name, values[name], meant)
                if name[len(PREFIX) :].lower().removesuffix("_field") in ITEM_FIELDS:
                    part = name[len(PREFIX) :].lower().removesuffix("_field")
                    raise SettingsError(
                        name, values[name], f'no such setting; set NEARDUP_ITEM_FIELDS = {{"{part}": ...}}'
                    )
                near = difflib.get_close_matches(name[len(PREFIX) :], [each[len(PREFIX) :] for each in known], 1)
                meant = f"; is it {PREFIX}{near[0]}?" if near else ""
                raise SettingsError(name, _without_secrets(name, values[name]), f"no such setting{meant}")
        checked = {each.name: _checked(each, name, values[name]) for name, each in known.items() if name in values}
        if "event_rule" not in checked and "preset" in checked:
            checked["event_rule"] = PRESETS[checked["preset"]].event_rule
        settings = cls(**checked)
        signer_for(settings.resolved_preset())  # raises if the stemmer or the reference file is missing
        settings._check_stream()
        return settings

    def _check_stream(self) -> None:
        if self.events_stream is not None:
            from scrapy_neardup.stories.stream import stream_of

            server, _ = stream_of(self.events_stream, self.store)
            from scrapy_neardup.index.redis.connection import Address

            try:
                Address.read(server)
            except ValueError as error:
                allowed = f"must be {_ALLOWED_STREAMS}; {without_password(server)!r} {error}"
                shown = _without_password("", self.events_stream)
                raise SettingsError(PREFIX + "EVENTS_STREAM", shown, allowed) from None

    @property
    def zone(self) -> ZoneInfo:
        """Return the time zone of texts for people."""
        return ZoneInfo(self.events_timezone)

    def is_quiet(self, second: float) -> bool:
        """Decide whether a time, in Unix seconds, is in the quiet hours. They may last over midnight."""
        begin, _, end = (self.events_quiet or "00:00-00:00").partition("-")
        clock = f"{datetime.fromtimestamp(second, self.zone):%H:%M}"
        return begin <= clock < end if begin <= end else not end <= clock < begin

    def feeds(self) -> dict[str, str]:
        """Return the uri of each feed that is set, by the name of its setting."""
        names = "dropped_feed", "events_feed", "record"
        uris = {PREFIX + name.upper(): getattr(self, name) for name in names}
        return {name: uri for name, uri in uris.items() if uri is not None}

    def resolved_preset(self) -> Preset:
        """Return the preset with the parameters that the user set."""
        return preset_with(self.preset, self.preset_options)

    @property
    def window_namespace(self) -> str:
        """Return the namespace of the window. A dry run has its own, so that it leaves the live window as it is."""
        return f"{self.namespace}.dry-run" if self.dry_run else self.namespace

    def sketching(self) -> Sketching | None:
        """Return how extraction processes sketch texts, or None if a sketch depends on more than the text."""
        preset = self.resolved_preset()
        if not preset.is_of_text_alone:
            return None
        return Sketching(FACTORY, ahead_options(preset, min_words=self.min_words, figures=self.keep_updates))

    def sketch_options(self) -> SketchOptions:
        """Return the arguments of a sketcher besides the preset."""
        return {
            "min_words": self.min_words,
            "figures": self.keep_updates,
            "by_source": self.scope == "same-source",
        }

    def owner_of(self, source: str) -> str:
        """Return who runs a source: the owner named for it or its platform, else the platform or the source itself."""
        named = (self.source_owners[name] for name in names_of(source) if name in self.source_owners)
        return next(named, platform_of(source))

    def policy(self) -> Policy:
        """Return the policy by which an index finds and judges candidates."""
        preset = self.resolved_preset()
        thresholds = preset.threshold, preset.related_threshold, preset.topic_threshold
        return Policy(
            self.window,
            preset.measure,
            *thresholds,
            scope=self.scope,
            collisions=preset.collisions,
            drop_share=self.drop_share,
            drops=self.action == "drop" and not self.dry_run,
            keep_sources=self.keep_sources,
            keep_updates=self.keep_updates,
            by_titles=preset.guarded,
        )


def _names() -> dict[str, Field[Any]]:
    """Return the fields of NearDupSettings by the names of their settings."""
    return {PREFIX + each.name.upper(): each for each in fields(NearDupSettings)}
