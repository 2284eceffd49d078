"""Read from a url who published a document, and from a publisher who owns it, without network access."""

import re
import socket
from collections.abc import Callable
from contextlib import suppress
from functools import cache, lru_cache, wraps
from ipaddress import IPv4Address, IPv6Address, ip_network
from typing import Any, TypeVar
from urllib.parse import SplitResult, urlsplit

# Characters of the longest url that is parsed. The identity of a longer one is a hash of all of it.
LONGEST_URL = 2_000
_LONGEST_REMEMBERED = 300  # characters: each cache takes 3 MB at most, 20 MB if no url is ASCII

# Domains under which strangers publish, and that the list of public suffixes lacks.
_PLATFORMS = frozenset(
    {"beehiiv.com", "ghost.io", "livejournal.com", "medium.com", "substack.com", "tumblr.com", "wordpress.com"}
)

# The owner of all hosts without a dot: only the network of the crawl knows them.
LOCAL = "localhost"
_OF_ALL_COUNTRIES = frozenset("ai cc co eu fm io la me su to tv ws".split())  # in these anybody has a domain
_NO_LETTER = re.compile(r"[\W_]+")
# of the name of a publisher
_FEWEST_WORDS = 2
_MOST_WORDS = 5

USUAL_PORTS = {"http": 80, "https": 443}

K = TypeVar("K")
V = TypeVar("V")


def remembered(function: Callable[[str], str]) -> Callable[[str], str]:
    """Cache the answers of a function for the last few thousand urls, except long ones."""
    of_short = lru_cache(maxsize=4096)(function)

    @wraps(function)
    def of_any(url: str) -> str:
        return of_short(url) if len(url) <= _LONGEST_REMEMBERED else function(url)

    return of_any


class Newest(dict[K, V]):
    """A map of at most so many entries: those that were set last. It takes half the memory of an OrderedDict."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def __setitem__(self, key: K, value: V) -> None:
        self.pop(key, None)
        super().__setitem__(key, value)
        if len(self) > self._most:
            del self[next(iter(self))]


def source_of(url: str) -> str:
    """Return the publisher: the registrable domain of a url (``bbc.co.uk``), else its host, "" without a host.

    A publisher on a platform has a name under that of the platform: ``harbour.blogspot.com``. An address is the same
    publisher in all its spellings, and on all its ports.
    """
    return _publisher(host_of(url))


@remembered
def _publisher(host: str) -> str:
    if not host:
        return ""
    suffix, domain = _suffix_and_domain(host, with_platforms=True)
    if domain in _PLATFORMS:
        name = host.removesuffix(domain).rstrip(".").rpartition(".")[2]
        return domain if name in ("", "www") else f"{name}.{domain}"
    if domain or _address(host):
        return domain or host
    if suffix != _suffix_and_domain(host)[0]:  # the page is one of the platform itself
        return suffix
    # The suffix is not on the list: the host may be in an intranet.
    return ".".join(host.split(".")[-2:])


@remembered
def platform_of(source: str) -> str:
    """Return who runs a source if nobody says so, which is most often the source itself.

    It is the registrable domain above a source on a platform (``blogspot.com``), the network of an address
    (``203.0.113.0/24``), and ``LOCAL`` for a host without a dot.
    """
    if address := _address(source):
        # One owner has all addresses with these bits.
        return str(ip_network((address, {4: 24, 6: 64}[address.version]), strict=False))
    if source and "." not in source:
        return LOCAL
    return _suffix_and_domain(source)[1] or source


def publisher_of(source: str, given: str, named: str) -> str:
    """Return who publishes a document of a source: a domain, or the letters of a name. Return "" if nobody says so.

    ``given`` is what the feed says: a name, a domain or a url. ``named`` is the name on the page. It counts if its
    first words, two or more, are the name of the domain: Business Insider Australia on ``businessinsider.com.au``.
    """
    if "." in given and len(given.split()) == 1:
        return source_of(given) or source_of(_as_url(given))
    words = [_NO_LETTER.sub("", each) for each in named.casefold().split()[:_MOST_WORDS]]
    brands = ("".join(words[:count]) for count in range(_FEWEST_WORDS, len(words) + 1))
    label = _NO_LETTER.sub("", source.partition(".")[0])
    return _NO_LETTER.sub("", given.casefold()) or next((each for each in brands if each == label), "")


def country_of(source: str) -> str:
    """Return the country in whose domain a source is: ``DE`` of ``zeitung.de``. Return "" if it is in none."""
    _, dot, code = source.rpartition(".")
    return code.upper() if dot and len(code) == 2 and code.isalpha() and code not in _OF_ALL_COUNTRIES else ""


def names_of(source: str) -> list[str]:
    """Return the domains by which settings can name a source: itself, and those above, such as its platform."""
    labels = source.split(".")
    return [".".join(labels[first:]) for first in range(len(labels))]


def is_of_domain(name: str, domain: str) -> bool:
    """Return whether a text is a url, a host or ``host:port`` of a domain, or of one below it."""
    host = host_of(name) or ("" if len(name.split()) > 1 else host_of(_as_url(name)))
    return f".{host}".endswith(f".{domain}")


def require_domain(name: str) -> str:
    """Return the source that a domain or url names. Raise ValueError if it names none, as a public suffix does."""
    domain = source_of(name if "://" in name else _as_url(name))
    is_name = "." in domain or ":" in domain or domain == "localhost"
    if not is_name or _suffix_and_domain(domain)[0] == domain:
        raise ValueError(f"{name!r} is not a source: give a domain such as example.com, or a url of it")
    return domain


def _as_url(name: str) -> str:
    return f"https://[{name}]" if ":" in name and _address(name) else f"https://{name}"


def host_of(url: str) -> str:
    try:
        parts = urlsplit(url[:LONGEST_URL])
    except ValueError:
        return ""
    return ascii_host(parts) if parts.scheme in USUAL_PORTS else ""


def ascii_host(parts: SplitResult) -> str:
    """Return the host in the form in which Scrapy requests it: ``xn--bcher-kva.example`` for ``bücher.example``."""
    host = parts.hostname or ""
    if not host.isascii() and len(host) <= 253:  # a host has no more characters
        with suppress(UnicodeError):  # no server can have this name
            host = host.encode("idna").decode("ascii")
    host = host.rstrip(".")
    return str(_address(host) or host)


def _address(host: str) -> IPv4Address | IPv6Address | None:
    """Return the address that a host is, in any spelling that browsers and Scrapy take: ``127.1``, ``0x7f000001``."""
    try:
        if ":" not in host:
            return IPv4Address(socket.inet_aton(host)) if host[-1:].isalnum() and " " not in host else None
        address = IPv6Address(host.partition("%")[0])  # without the network interface
    except (OSError, ValueError):
        return None
    return address.ipv4_mapped or address  # one of the old kind in a new one


@cache
def _suffix_list() -> Any:
    """Return the public suffix list that ships with its package: no download, no cache folder."""
    from tldextract import TLDExtract

    return TLDExtract(cache_dir=None, suffix_list_urls=())


def _suffix_and_domain(host: str, *, with_platforms: bool = False) -> tuple[str, str]:
    """Return the public suffix of a host, that of a registry or also of a platform, and the domain just below it.

    What there is none of is "".
    """
    found = _suffix_list().extract_str(host, include_psl_private_domains=with_platforms)
    return found.suffix, found.top_domain_under_public_suffix
