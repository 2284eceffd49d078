"""The urls that ``NEARDUP_STORE`` may have."""

import re
from urllib.parse import parse_qsl

ALLOWED_STORES = (
    "a store is memory://, sqlite:///path, redis://host:port/db, rediss://host:port/db, unix:///path or "
    "redis+cluster://host:port,host:port"
)
ALLOWED_FILES = "a file is sqlite:///relative/file or sqlite:////absolute/file"

_HOST = r"(?:\[[0-9A-Fa-f:.]+\]|[^\s:/?#@\[\],]+)(?::\d{1,5})?"
_LOGIN = r"(?:[^\s/?#]*@)?"
_OPTIONS = r"(?:\?[^\s#@]*)?"
_SERVER = re.compile(rf"(?:rediss?://{_LOGIN}{_HOST}(?:/\d*)?|unix://{_LOGIN}/[^\s?#@]+){_OPTIONS}")
CLUSTER = re.compile(rf"(rediss?)\+cluster(://{_LOGIN})({_HOST}(?:,{_HOST})*)(/?0?{_OPTIONS})")
_ALLOWED = (
    "must be redis://user:password@host:6379/0, rediss://… with TLS, unix:///path?db=0, or for a cluster"
    " redis+cluster://user:password@host:6379,host:6379. In a password write / ? # and @ as %2F %3F %23 and %40"
)
_LARGEST_PORT = 65_535
_LONG_PORT = re.compile(r":(\d{5})(?![^,/?])")
_PLAIN = {"db", "client_name", "username", "password"}
_TLS = {"ssl_ca_certs", "ssl_certfile", "ssl_keyfile", "ssl_cert_reqs", "ssl_check_hostname"}


def is_redis(url: str) -> bool:
    """Return whether a url names a Redis: one server or a cluster."""
    return url.startswith(("redis://", "rediss://", "redis+", "rediss+", "unix://"))


def check_url(url: str) -> None:
    """Raise ValueError if the url names no store. The message says what is allowed, and has no password."""
    scheme, separator, rest = url.partition("://")
    if not separator or not (url == "memory://" or scheme == "sqlite" or is_redis(url)):
        raise ValueError(ALLOWED_STORES)
    if scheme == "sqlite" and not re.fullmatch(r"/.*[^/]", rest):
        raise ValueError(ALLOWED_FILES)
    if is_redis(url):
        check_redis(url)


def check_redis(url: str) -> None:
    """Raise ValueError if the url names no Redis. The message says what is allowed, and has no part of a password."""
    has_form = _SERVER.fullmatch(url) or CLUSTER.fullmatch(url)
    if not has_form or any(int(port) > _LARGEST_PORT for port in _LONG_PORT.findall(url)):
        raise ValueError(_ALLOWED)
    options = dict(parse_qsl(url.partition("?")[2], keep_blank_values=True))
    allowed = _PLAIN | _TLS if url.startswith("rediss") else _PLAIN
    for name in options.keys() - allowed:
        known = f"allowed are {', '.join(sorted(allowed))}; ssl options need rediss:// or rediss+cluster://"
        raise ValueError(f"{name} is not an option of this kind of url; {known}")
    if not options.get("db", "0").isdecimal():
        raise ValueError("db is not the number of a database")
