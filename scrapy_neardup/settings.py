"""Every ``NEARDUP_*`` setting, read and checked once."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from os import PathLike
from typing import Any, Literal, get_args

from scrapy_neardup.content import Sketching, domain_of
from scrapy_neardup.exceptions import SettingsError
from scrapy_neardup.index import ALLOWED_STORES, REDIS_SCHEMES, Policy, Scope, check_shards, check_url
from scrapy_neardup.index.redis.connection import Address, without_password
from scrapy_neardup.similarity.likeness import SET_MEASURES, Measure
from scrapy_neardup.sketch import FACTORY, PRESETS, Preset, SketchOptions, ahead_options
from scrapy_neardup.sketch.signatures import signer_for
from scrapy_neardup.sketch.signatures.parameters import preset_with
from scrapy_neardup.sketch.signatures.presets import PARAMETERS
from scrapy_neardup.stories import ALLOWED_OWNERS, ALLOWED_RULES, read_owners

PREFIX = "NEARDUP_"

Action = Literal["tag", "drop"]
Delivered = Literal["stored", "scraped"]
OnStoreError = Literal["keep", "close"]

DEFAULT_DROPPED_FEED = "neardup-dropped/%(name)s-%(time)s.jsonl"
"""A path in the data directory."""

TAGS = (
    "neardup_status",
    "neardup_kind",
    "neardup_original",
    "neardup_match",
    "neardup_similarity",
    "neardup_containment",
    "neardup_share",
    "neardup_would_drop",
    "neardup_story",
    "neardup_changes",
    "neardup_event",
    "neardup_reason",
)

_TRUE = {"1", "true", "yes", "on"}
_FALSE = {"0", "false", "no", "off", ""}

_ALLOWED_STREAMS = "must be the name of a stream in the store's Redis, or redis://host/0#name"

_SECRET_NAME = re.compile("SECRET|PASSWORD|TOKEN")

Check = Callable[[str, Any], Any]


def _boolean(name: str, value: Any) -> bool:
    text = str(value).strip().lower()
    if isinstance(value, bool | int) and value in (0, 1):
        return bool(value)
    if isinstance(value, str) and text in _TRUE | _FALSE:
        return text in _TRUE
    raise SettingsError(name, value, "must be True or False")


def _one_of(*allowed: str) -> Check:
    def check(name: str, value: Any) -> str:
        if value not in allowed:
            raise SettingsError(name, value, f"must be one of {', '.join(map(repr, allowed))}")
        return str(value)

    return check


def _number(kind: type[int] | type[float], low: float, high: float) -> Check:
    word = "a whole number" if kind is int else "a number"

    def check(name: str, value: Any) -> int | float:
        try:
            number = kind(value)
            exact = not isinstance(value, bool) and number == float(value)
        except (TypeError, ValueError, OverflowError):
            exact = False
        if not exact or not low <= number <= high:
            raise SettingsError(name, value, f"must be {word} from {low:g} to {high:g}")
        return number

    return check


def _optional(check: Check) -> Check:
    return lambda name, value: None if value is None else check(name, value)


def _or_auto(check: Check) -> Check:
    return lambda name, value: value if value == "auto" else check(name, value)


def _workers(name: str, value: Any) -> int | str:
    if value is None:
        return 0
    try:
        return "auto" if value == "auto" else int(_number(int, 0, 256)(name, value))
    except SettingsError:
        raise SettingsError(name, value, "must be 0 (threads), a number of processes up to 256, or 'auto'") from None


def _text(pattern: str, allowed: str, shown: Callable[[str, Any], Any] = lambda _, value: value) -> Check:
    def check(name: str, value: Any) -> str:
        if not isinstance(value, str) or not re.fullmatch(pattern, value):
            raise SettingsError(name, shown(name, value), f"must be {allowed}")
        return value

    return check


def without_secrets(name: str, value: Any) -> Any:
    """Return the value of a setting as messages may show it. If it may be secret, show at most the scheme of a url."""
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
    if not isinstance(text, str):
        return value if isinstance(value, bool | int | float | None) and not _SECRET_NAME.search(name) else "***"
    scheme, separator, _ = text.partition("://")
    if separator and re.fullmatch(r"[\w+.-]*", scheme):
        return f"{scheme}://***"
    return "***" if _SECRET_NAME.search(name) or re.search("[:@/]", text) else text


def _store(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise SettingsError(name, without_secrets(name, value), ALLOWED_STORES)
    try:
        check_url(value)
    except ValueError as error:
        shown = without_password(value) if "://" in value or "@" not in value else without_secrets(name, value)
        raise SettingsError(name, shown, str(error)) from None
    return value


def _shown_of_unknown(name: str, value: Any) -> Any:
    """Return a value for a message about an unknown name, which may be the misspelt name of a secret."""
    is_plain = not isinstance(value, str | bytes) or not re.search("[:@/]", str(value))
    return value if is_plain and not re.search("SECRET?S?|PASSWORD|TOKEN", name) else without_secrets(name, value)


def _item_classes(name: str, value: Any) -> tuple[str | type, ...]:
    items = value.split(",") if isinstance(value, str) else value
    if not isinstance(items, list | tuple | set | frozenset) or not all(isinstance(i, str | type) for i in items):
        raise SettingsError(name, value, "must be a list of item classes or of their import paths")
    return tuple(item.strip() if isinstance(item, str) else item for item in items if item)


def _words(name: str, value: Any) -> tuple[str, ...]:
    items = value.split(",") if isinstance(value, str) else value
    if not isinstance(items, list | tuple | set | frozenset) or not all(isinstance(each, str) for each in items):
        raise SettingsError(name, value, "must be a list of words")
    return tuple(sorted({word.strip() for word in items} - {""}))


def _field_names(name: str, value: Any) -> dict[str, str]:
    """Return the field of each tag. A list selects tags; a mapping selects and renames them."""
    if isinstance(value, str):
        value = [part.strip() for part in value.split(",") if part.strip()]
    if isinstance(value, list | tuple | set | frozenset) and all(isinstance(tag, str) for tag in value):
        value = {tag: tag for tag in value}
    names = value if isinstance(value, Mapping) else {}
    unknown = [tag for tag in names if tag not in TAGS]
    if not names or unknown or not all(isinstance(target, str) and target for target in names.values()):
        wrong = f"{unknown[0]!r} is not a tag; " if unknown else ""
        raise SettingsError(name, value, f"{wrong}must be a list of tags, or map tags to names: {', '.join(TAGS)}")
    if len(set(names.values())) < len(names):
        raise SettingsError(name, value, "two tags cannot share one field")
    return {tag: str(target) for tag, target in names.items()}


def _stream(name: str, value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise SettingsError(name, without_secrets(name, value), _ALLOWED_STREAMS)
    if "://" in value:
        url = value.partition("#")[0]
        try:
            Address.read(url)
        except ValueError as error:
            shown = value.replace(url, without_password(url))
            raise SettingsError(name, shown, f"{_ALLOWED_STREAMS}; {error}") from None
    return value


def _sources(name: str, value: Any) -> frozenset[str]:
    """Return registrable domains, from domains or urls of them."""
    items = value.split(",") if isinstance(value, str) else value
    if not isinstance(items, list | tuple | set | frozenset) or not all(isinstance(each, str) for each in items):
        raise SettingsError(name, value, "must be a list of domains such as 'example.com'")
    domains = {each.strip(): domain_of(each.strip()) for each in items if each.strip()}
    for given, domain in domains.items():
        if not domain:
            raise SettingsError(name, value, f"{given!r} is not a domain such as 'example.com'")
    return frozenset(domains.values())


def _owners(name: str, value: Any) -> dict[str, str]:
    try:
        return read_owners(value)
    except ValueError as error:
        raise SettingsError(name, value, f"{error}; must be {ALLOWED_OWNERS}") from error


def _feed(name: str, value: Any) -> str | None:
    """Return the URI of a feed. None means no feed, and so do the ways to write None on the command line."""
    if value is None or value in ("", "None", "null"):
        return None
    if not isinstance(value, str | PathLike):
        raise SettingsError(name, value, "must be the URI of a feed, or None")
    return str(value)


def _folder(name: str, value: Any) -> str | None:
    if value is None or (isinstance(value, str | PathLike) and str(value)):
        return None if value is None else str(value)
    raise SettingsError(name, value, "must be the path of a directory, or None")


def _setting(default: Any, check: Check, *, repr: bool = True) -> Any:  # noqa: A002  as field has it
    return field(default=default, metadata={"check": check}, repr=repr)


_field_name = _optional(_text(r".*", "the name of an item field, or None"))


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
    dropped_feed: str | None = field(default=DEFAULT_DROPPED_FEED, metadata={"check": _feed})
    keep_sources: frozenset[str] = field(default=frozenset(), metadata={"check": _sources})
    data_dir: str | None = field(default=None, metadata={"check": _folder})
    store: str = _setting("sqlite:///neardup.sqlite", _store, repr=False)
    shards: int = _setting(1, _number(int, 1, 64))
    namespace: str = _setting("default", _text(r"[A-Za-z0-9_.-]{1,64}", "1 to 64 of A-Z a-z 0-9 _ . -"))
    window: int = _setting(24 * 3600, _number(int, 7200, 31 * 24 * 3600))
    preset: str = _setting("news", _one_of(*PRESETS))
    num_perm: int | None = _setting(None, _optional(_number(int, 5, 512)))
    bands: int | Literal["auto"] | None = _setting(None, _optional(_or_auto(_number(int, 1, 256))))
    rows: int | None = _setting(None, _optional(_number(int, 1, 64)))
    shingle_words: int | None = _setting(None, _optional(_number(int, 1, 20)))
    shingle_characters: int | None = _setting(None, _optional(_number(int, 1, 50)))
    threshold: float | None = _setting(None, _optional(_number(float, 0.05, 1)))
    related_threshold: float | None = _setting(None, _optional(_number(float, 0.01, 1)))
    topic_threshold: float | None = _setting(None, _optional(_number(float, 0.05, 1)))
    measure: Measure | None = _setting(None, _optional(_one_of(*SET_MEASURES)))
    stemming: str | None = _setting(None, _optional(_text(r"[a-z]+", "a language of Snowball, as 'english'")))
    stop_words: tuple[str, ...] | None = _setting(None, _optional(_words))
    heaviest_terms: int | None = _setting(None, _optional(_number(int, 0, 1_000_000)))
    common_share: float | None = _setting(None, _optional(_number(float, 0, 0.5)))
    sample: int | None = _setting(None, _optional(_number(int, 0, 1_000_000)))
    lead_share: float | None = _setting(None, _optional(_number(float, 0.01, 1)))
    collisions: int | None = _setting(None, _optional(_number(int, 0, 511)))
    features: str | None = _setting(None, _optional(_text(r"\w+(\.\w+)+", "the import path of a callable, or None")))
    reference: str | None = _setting(None, _optional(_text(r".+", "the path of a reference file, or None")))
    scope: Scope = _setting("all", _one_of(*get_args(Scope)))
    keep_updates: bool = _setting(True, _boolean)
    min_words: int = _setting(20, _number(int, 1, 10_000))
    min_block_words: int | None = _setting(None, _optional(_number(int, 0, 1000)))
    text_field: str | None = _setting("text", _field_name)
    url_field: str | None = _setting("url", _field_name)
    title_field: str | None = _setting("title", _field_name)
    language_field: str | None = _setting("language", _field_name)
    time_field: str | None = _setting(None, _field_name)
    item_classes: tuple[str | type, ...] = _setting((), _item_classes)
    fields: dict[str, str] = field(
        default_factory=lambda: dict(zip(TAGS, TAGS, strict=True)), metadata={"check": _field_names}
    )
    extractor: str = _setting("trafilatura", _text(r"[\w.]+", "the name or import path of an extractor"))
    extract_workers: int | Literal["auto"] | None = _setting(None, _optional(_workers))
    extract_timeout: float = _setting(10.0, _number(float, 0.01, 3600))
    extract_memory: int | None = _setting(2_000_000_000, _optional(_number(int, 10_000_000, 10**15)))
    max_html_bytes: int = _setting(5_000_000, _number(int, 1, 1 << 31))
    on_store_error: OnStoreError = _setting("keep", _one_of(*get_args(OnStoreError)))
    store_timeout: float = _setting(2.0, _number(float, 0.01, 600))
    event_rule: str = _setting("sources", _text(r"[\w.]+", ALLOWED_RULES))
    events_per_day: float = _setting(17.0, _number(float, 0, 1_000_000))
    source_owners: dict[str, str] = field(default_factory=dict, metadata={"check": _owners})
    events_feed: str | None = _setting(None, _optional(_text(r".+", "the URI of a feed, or None")), repr=False)
    events_stream: str | None = _setting(None, _optional(_stream), repr=False)
    events_webhook: str | None = _setting(
        None, _optional(_text(r"https?://[^/\s]+\S*", "an http or https url, or None", without_secrets)), repr=False
    )
    events_webhook_secret: str | None = _setting(
        None, _optional(_text(r".+", "a text of one line, or None", without_secrets)), repr=False
    )

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> NearDupSettings:
        """Read ``NEARDUP_*`` keys. Raise SettingsError if a key is no setting, or if its value is not allowed."""
        known = {PREFIX + each.name.upper(): each for each in fields(cls)}
        for name in values:
            if isinstance(name, str) and name.startswith(PREFIX) and name not in known:
                near = difflib.get_close_matches(name[len(PREFIX) :], [each[len(PREFIX) :] for each in known], 1)
                meant = f"; is it {PREFIX}{near[0]}?" if near else ""
                raise SettingsError(name, _shown_of_unknown(name, values[name]), f"no such setting{meant}")
        checked = {
            each.name: each.metadata["check"](name, values[name]) for name, each in known.items() if name in values
        }
        if "event_rule" not in checked and "preset" in checked:
            checked["event_rule"] = PRESETS[checked["preset"]].event_rule
        settings = cls(**checked)
        signer_for(settings.resolved_preset())  # raises if the stemmer or the reference file is missing
        settings._check_stream()
        check_shards(settings.shards, settings.store)
        return settings

    def _check_stream(self) -> None:
        name, store_scheme = self.events_stream, self.store.partition("://")[0]
        if name is not None and "://" not in name and store_scheme not in REDIS_SCHEMES:
            allowed = (
                f"NEARDUP_STORE = {without_password(self.store)!r} is not Redis: name its server, redis://host/0#{name}"
            )
            raise SettingsError(PREFIX + "EVENTS_STREAM", name, allowed)

    def resolved_preset(self) -> Preset:
        """Return the preset with the parameters that the user set."""
        return preset_with(self.preset, {name: getattr(self, name) for name in PARAMETERS})

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
