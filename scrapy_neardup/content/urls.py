"""What a url says of a document: who published it, and which page it is. No network is asked."""

from __future__ import annotations

import ipaddress
import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urldefrag, urlencode, urlsplit, urlunsplit

if TYPE_CHECKING:
    from tldextract import TLDExtract

_MOBILE_HOST = re.compile(r"^(?:www\d?|amp|m|mobile)\.(?=[^.]+\.)")
_AMP_CACHE = re.compile(r"^(?:[^/]+\.cdn\.ampproject\.org/[acv]/s/|(?:www\.)?google\.[a-z.]+/amp/s/)([^/?]+\.)")
_AMP_PATH = re.compile(r"^/amp(?=/.)|(?:/amp|\.amp|/amp\.html?)/?$")
_AMP_VALUE = re.compile(r"(?:amp|1|true)?", re.IGNORECASE)
_SESSION = re.compile(r";(?:jsessionid|phpsessid|sid)=[^/?]*", re.IGNORECASE)
# What courlan takes for a tracker by its name alone may number an article (cid, eid, uid); these never do.
_NUMBERED_TRACKER = re.compile(r"^(?:utm|ga|mc|pk|mtm|itm|mkt|vero)_|clid$", re.IGNORECASE)


@lru_cache(maxsize=4096)
def source_of(url: str) -> str:
    """The publisher: registrable domain of a url (``bbc.co.uk``), its host where there is none, "" without a host."""
    host = _host(url)
    if not host:
        return ""
    domain = _suffixes()(host).top_domain_under_public_suffix
    if domain or _is_address(host):
        return domain or host
    # A suffix that is on no list, as of an intranet.
    return ".".join(host.split(".")[-2:])


@lru_cache(maxsize=4096)
def url_identity(url: str) -> str:
    """What makes two urls the same page: without scheme, www, mobile and AMP forms, tracking parameters, fragment.

    Returns "" for what is no web address.
    """
    from courlan import normalize_url

    if not _host(url):
        return ""
    try:
        page, fragment = urldefrag(url)
        scheme, _, rest = page.partition("://")
        given = urlsplit("//" + _AMP_CACHE.sub(r"\1", rest))
        parts = urlsplit(normalize_url(urlunsplit((scheme, given.netloc, _SESSION.sub("", given.path), "", ""))))
    except ValueError:
        return ""
    host = _MOBILE_HOST.sub("", parts.netloc.lower())
    path = _AMP_PATH.sub("", parts.path).rstrip("/")
    query = urlencode(sorted(pair for pair in _parameters(given.query) if not _says_nothing(*pair)))
    # A fragment that begins with ! is a page of its own, in sites that route by it.
    route = f"#{fragment}" if fragment.startswith("!") else ""
    return f"{host}{path}?{query}{route}" if query else f"{host}{path}{route}"


def _parameters(query: str) -> list[tuple[str, str]]:
    # A word without a value may be all that names the article: /articles/?3769767
    return parse_qsl(query, keep_blank_values=True)


def _says_nothing(name: str, value: str) -> bool:
    """Whether a parameter names no page: a tracker, or the wish for the AMP form."""
    from courlan.clean import clean_query

    if name.lower() in ("amp", "outputtype", "output") and _AMP_VALUE.fullmatch(value):
        return name.lower() == "amp" or value.lower() == "amp"
    if value.isdigit() and not _NUMBERED_TRACKER.search(name):
        return False
    return not clean_query(urlencode({name: "1"}))


def _host(url: str) -> str:
    try:
        parts = urlsplit(url)
        return (parts.hostname or "").rstrip(".") if parts.scheme in ("http", "https") else ""
    except ValueError:
        return ""


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


@cache
def _suffixes() -> TLDExtract:
    from tldextract import TLDExtract

    # The list that ships with the package: no download, no cache folder.
    return TLDExtract(suffix_list_urls=(), cache_dir=None)
