"""What a url says of a document: who published it, and which page it is. No network is asked."""

from __future__ import annotations

import ipaddress
import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING
from urllib.parse import urldefrag, urlsplit

if TYPE_CHECKING:
    from tldextract import TLDExtract

_MOBILE_HOST = re.compile(r"^(?:www\d?|amp|m|mobile)\.(?=[^.]+\.)")
_AMP_PATH = re.compile(r"(?:/amp|\.amp|/amp\.html?)/?$")
_AMP_QUERY = re.compile(r"(?:^|&)(?:amp|outputType=amp|output=amp)(?:=1?)?(?=&|$)", re.IGNORECASE)


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
        parts = urlsplit(normalize_url(page))
    except ValueError:
        return ""
    host = _MOBILE_HOST.sub("", parts.netloc.lower())
    path = _AMP_PATH.sub("", parts.path).rstrip("/")
    query = _AMP_QUERY.sub("", parts.query).lstrip("&")
    # A fragment that begins with ! is a page of its own, in sites that route by it.
    route = f"#{fragment}" if fragment.startswith("!") else ""
    return f"{host}{path}?{query}{route}" if query else f"{host}{path}{route}"


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
