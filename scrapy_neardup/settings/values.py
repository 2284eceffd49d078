"""Checks of the values that users give to settings. A wrong value raises ValueError, which says what is allowed.

The first part says in which fields of items the parts of documents are, and reads them. The last checks are of the urls
that ``NEARDUP_STORE`` may have.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import Field, field
from importlib.util import find_spec
from os import PathLike
from pkgutil import resolve_name
from typing import Any, cast
from urllib.parse import parse_qsl
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from scrapy_neardup.document import MOST_CHARACTERS
from scrapy_neardup.evidence.likeness import SET_MEASURES
from scrapy_neardup.evidence.sources import require_domain
from scrapy_neardup.exceptions import SettingsError
from scrapy_neardup.settings.presets import option_name
from scrapy_neardup.text.display import without_password

# The threshold of ``breaking`` is at least this number, unless NEARDUP_EVENTS_MIN_SOURCES says otherwise.
MIN_SOURCES = 5

BUILT_IN_RULES = "sources", "count"  # see ``stories.rules``
ALLOWED_RULES = "'sources', 'count' or the import path of a callable (story, time, breaking_over)"
ALLOWED_OWNERS = 'a mapping of owners to their sources, such as {"Press Ltd": ["a.example", "b.example"]}'

# The item field in which each part of a document is looked for.
ITEM_FIELDS: dict[str, str | None] = {
    "text": "text",
    "url": "url",
    "title": "title",
    "language": "language",
    "section": "section",
    "publisher": None,
    "time": None,
}

# The names that schema.org gives these fields, as in zyte-common-items. They count if an item has ``articleBody``.
ARTICLE_FIELDS = {"text": "articleBody", "title": "headline", "language": "inLanguage"}


def text_of(item: Mapping[str, Any], field: str | None) -> str:
    """Return the beginning of the text in an item's field, or "" if it is missing, blank or not a text."""
    values = {**item}  # those that are set: to ask for another one may raise, or add it to the item
    value = values.get(field or "")
    if value is None and field in ARTICLE_FIELDS and "articleBody" in values:
        value = values.get(ARTICLE_FIELDS[field])
    if isinstance(value, list | tuple):  # item loaders without output processors leave a list
        value = "\n".join(part[:MOST_CHARACTERS] for part in value[:10_000] if isinstance(part, str))
    if not isinstance(value, str):
        return ""
    value = value[:MOST_CHARACTERS]
    return value if value.strip() else ""


def name_of(item: Mapping[str, Any], field: str | None) -> str:
    """Return the url or language in an item's field: the first line of its text, so the first entry of a list."""
    return text_of(item, field).strip().partition("\n")[0]


def url_of(item: Mapping[str, Any], field: str | None) -> str:
    """Return the url in an item's field, also if it is bytes or an object with a host, such as those of pydantic."""
    value = {**item}.get(field or "")
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return str(value) if hasattr(value, "host") else name_of(item, field)


_BOOLEANS = {**dict.fromkeys(("1", "true", "yes", "on"), True), **dict.fromkeys(("0", "false", "no", "off", ""), False)}

# Takes the value that a user gave, and returns the value that is used. Raises ValueError to say what is allowed.
Check = Callable[[Any], Any]


def boolean(value: Any) -> bool:
    text = str(value).strip().lower()
    if not isinstance(value, str | bool | int) or text not in _BOOLEANS:
        raise ValueError("must be True or False")
    return _BOOLEANS[text]


def _require(is_right: Callable[[Any], object], allowed: str) -> Check:
    def check(value: Any) -> Any:
        if not is_right(value):
            raise ValueError(f"must be {allowed}")
        return value

    return check


def one_of(*allowed: str) -> Check:
    return _require(allowed.__contains__, f"one of {', '.join(map(repr, allowed))}")


def matching(pattern: str, allowed: str) -> Check:
    return _require(lambda value: isinstance(value, str) and re.fullmatch(pattern, value), allowed)


def number(kind: type[int] | type[float], low: float, high: float, *, unit: str = "") -> Check:
    """Return the check of a number. ``unit`` is shown behind the limits."""
    name = {int: "a whole number", float: "a number"}[kind]
    allowed = f"must be {name} from {low} to {high}{unit}"

    def check(value: Any) -> int | float:
        try:
            found = kind(value)
            exact = not isinstance(value, bool) and found == float(value)
        except (TypeError, ValueError, OverflowError):
            exact = False
        if not exact or not low <= found <= high:
            raise ValueError(allowed)
        return found

    return check


def optional(check: Check, *nones: str) -> Check:
    """Return a check that also takes None, in the ways to write it on the command line and those in ``nones``."""
    return lambda value: None if value in (None, "None", "null", *nones) else check(value)


def _from_json(value: Any) -> Any:
    """Return a list or mapping that was written as JSON, as on the command line. Other values stay as they are."""
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        try:
            return json.loads(value)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"is not JSON ({error})") from None
    return value


def list_of(is_right: Callable[[Any], bool], allowed: str, made: Callable[[list[Any]], Any] = tuple) -> Check:
    """Return the check of a list, or of a text with commas between the members. ``made`` returns what is used."""

    def check(value: Any) -> Any:
        value = _from_json(value)
        items = value.split(",") if isinstance(value, str) else value
        is_list = isinstance(items, list | tuple | set | frozenset)
        stripped = [each.strip() if isinstance(each, str) else each for each in (items if is_list else ())]
        given = [each for each in stripped if each != ""]
        if not is_list or not all(map(is_right, given)):
            raise ValueError(f"must be {allowed}")
        return made(given)

    return check


sources = list_of(
    lambda each: isinstance(each, str),
    "a list of domains such as 'example.com'",
    lambda domains: frozenset(map(require_domain, domains)),
)

# The top media topics of IPTC, by short names.
SECTIONS = (
    *("arts", "conflict", "crime", "disaster", "economy", "education", "environment", "health", "human-interest"),
    *("labour", "lifestyle", "politics", "religion", "science", "society", "sport", "weather"),
)


def some_of(*known: str) -> Check:
    return list_of(known.__contains__, f"a list of {', '.join(map(repr, known))}")


def item_fields(value: Any) -> dict[str, str | None]:
    """Return the item field of each part of a document. Parts that are not given keep their usual fields."""
    value = _from_json(value)
    is_mapping = isinstance(value, Mapping) and value.keys() <= ITEM_FIELDS.keys()
    if not is_mapping or not all(isinstance(each, str | None) for each in value.values()):
        raise ValueError(f"must map {', '.join(ITEM_FIELDS)} to names of item fields, or to None")
    return {**ITEM_FIELDS, **value}


def services(value: Any) -> tuple[str, ...]:
    """Return the Apprise urls, from a list or a single text: a url may have commas."""
    urls = _from_json(value) or ()
    if isinstance(urls, str):
        urls = [urls]
    form = r"[A-Za-z][\w+-]*://"
    if not isinstance(urls, list | tuple) or not all(isinstance(url, str) and re.match(form, url) for url in urls):
        raise ValueError("must be a list of Apprise urls, such as 'slack://…' or 'mailto://…'")
    if urls and find_spec("apprise") is None:
        raise ValueError("needs pip install apprise")
    return tuple(urls)


def owners(value: Any) -> dict[str, str]:
    """Return the owner of each source that is listed."""
    value = _from_json(value)
    if not isinstance(value, Mapping):
        raise ValueError(f"must be {ALLOWED_OWNERS}")
    found: dict[str, str] = {}
    for owner, domains in value.items():
        is_list = isinstance(domains, list | tuple | set | frozenset)
        if not owner or not is_list or not all(isinstance(each, str) for each in (owner, *domains)):
            raise ValueError(f"{domains!r} is no list of sources of {owner!r}; must be {ALLOWED_OWNERS}")
        for source in map(require_domain, domains):
            if found.setdefault(source, owner) != owner:
                raise ValueError(f"{source!r} has two owners, {found[source]!r} and {owner!r}")
    return found


def zone_name(value: Any) -> str:
    try:
        return ZoneInfo(value).key
    except (ValueError, OSError, TypeError, ZoneInfoNotFoundError):
        raise ValueError(
            "must be a time zone such as 'Europe/Berlin'; a system without time zones needs pip install tzdata"
        ) from None


def path(allowed: str) -> Check:
    return lambda value: matching("(?s).+", allowed)(str(value) if isinstance(value, PathLike) else value)


feed = optional(path("the URI of a feed, or None"), "")

# Takes the value of a setting, and returns it in a form that messages may show.
Shown = Callable[[Any], Any]


def hide(value: Any) -> str:
    """Return what messages show of a secret, whatever it is."""
    return "***"


def hide_password(value: Any) -> Any:
    is_url = isinstance(value, str) and ("://" in value or "@" not in value)
    return without_password(value) if is_url else hide_text(value)


def hide_text(value: Any) -> Any:
    """Return a number as it is. A text of a setting that nobody knows may be a secret under a misspelt name."""
    return value if isinstance(value, bool | int | float | None) else "***"


def setting(default: Any, check: Check, meaning: str, *, shown: Shown | None = None) -> Any:
    """Return the dataclass field of a setting. ``meaning`` explains it, ``shown`` makes its value safe for messages.

    A default that is a mapping is copied for each object.
    """
    given: Any = {"default_factory": default.copy} if isinstance(default, dict) else {"default": default}
    return field(**given, metadata={"check": check, "meaning": meaning, "shown": shown}, repr=shown is None)


def checked(each: Field[Any], name: str, value: Any) -> Any:
    """Return the value of a setting as it is used. Raise SettingsError if it is not allowed."""
    try:
        return each.metadata["check"](value)
    except SettingsError:  # it names a part of the value
        raise
    except ValueError as error:
        shown: Shown | None = each.metadata["shown"]
        raise SettingsError(name, shown(value) if shown else value, str(error)) from None


PRESET_OPTIONS: dict[str, Check] = {
    "threshold": number(float, 0.05, 1),
    "related_threshold": number(float, 0.01, 1),
    "topic_threshold": number(float, 0.05, 1),
    "names": boolean,
    "vector_middle": number(float, -1, 1),
    "vector_bar": number(float, 0, 2),
    "measure": one_of(*SET_MEASURES),
    "min_block_words": number(int, 0, 1000),
}


def preset_options(value: Any) -> dict[str, Any]:
    value = _from_json(value)
    if not isinstance(value, Mapping):
        raise ValueError('must map parameters of the preset to values, as {"threshold": 0.5}')
    checked = {}
    for name, given in value.items():
        if name not in PRESET_OPTIONS:
            raise ValueError(f"{name!r} is no parameter; must be among {', '.join(PRESET_OPTIONS)}")
        try:
            checked[name] = PRESET_OPTIONS[name](given)
        except ValueError as error:
            raise SettingsError(option_name(name), given, str(error)) from None
    return checked


def load_callable(setting: str, path: str, allowed: str) -> Callable[..., Any]:
    """Return the callable that an import path names. If there is none, raise SettingsError and say what is allowed."""
    try:
        found = resolve_name(path)
    except (ImportError, AttributeError, ValueError) as error:
        raise SettingsError(setting, path, f"{error}; must be {allowed}") from error
    if not callable(found):
        raise SettingsError(setting, path, f"must be {allowed}")
    return cast("Callable[..., Any]", found)


_HOST = r"(?:\[[0-9A-Fa-f:.]+\]|[^\s:/?#@\[\],]+)(?::\d{1,5})?"
_LOGIN = r"(?:[^\s/?#]*@)?"
_OPTIONS = r"(?:\?[^\s#@]*)?"
_SERVER = re.compile(rf"(?:rediss?://{_LOGIN}{_HOST}(?:/\d*)?|unix://{_LOGIN}/[^\s?#@]+){_OPTIONS}")
CLUSTER = re.compile(rf"(rediss?)\+cluster(://{_LOGIN})({_HOST}(?:,{_HOST})*)(/?0?{_OPTIONS})")


def store(value: Any) -> str:
    """Return the url of a store. The message of an error says what is allowed, and has no password."""
    url = str(value)
    scheme, separator, rest = url.partition("://")
    is_redis = url.startswith(("redis://", "rediss://", "redis+", "rediss+", "unix://"))  # one server or a cluster
    if not separator or not (url == "memory://" or scheme == "sqlite" or is_redis):
        raise ValueError(
            "a store is memory://, sqlite:///path, redis://host:port/db, rediss://host:port/db, unix:///path or "
            "redis+cluster://host:port,host:port"
        )
    if scheme == "sqlite" and not re.fullmatch(r"/.*[^/]", rest):
        raise ValueError("a file is sqlite:///relative/file or sqlite:////absolute/file")
    if not is_redis:
        return url
    has_form = _SERVER.fullmatch(url) or CLUSTER.fullmatch(url)
    if not has_form or any(int(port) > 65_535 for port in re.findall(r":(\d{5})(?![^,/?])", url)):
        raise ValueError(
            "must be redis://user:password@host:6379/0, rediss://… with TLS, unix:///path?db=0, or for a cluster"
            " redis+cluster://user:password@host:6379,host:6379. In a password write / ? # and @ as %2F %3F %23 and %40"
        )
    options = dict(parse_qsl(url.partition("?")[2], keep_blank_values=True))
    allowed = {"db", "client_name", "username", "password"}
    if url.startswith("rediss"):
        allowed |= {"ssl_ca_certs", "ssl_certfile", "ssl_keyfile", "ssl_cert_reqs", "ssl_check_hostname"}
    for name in options.keys() - allowed:
        raise ValueError(
            f"{name} is not an option of this kind of url; allowed are {', '.join(sorted(allowed))}; ssl options need"
            " rediss:// or rediss+cluster://"
        )
    if not options.get("db", "0").isdecimal():
        raise ValueError("db is not the number of a database")
    return url
