"""Read from a url which page it is, and the number of the article, without network access."""

import re
from collections.abc import Iterable
from itertools import pairwise
from urllib.parse import (
    parse_qsl,
    quote,
    unquote_to_bytes,
    urlencode,
    urljoin,
    urlsplit,
    urlunsplit,
)

import xxhash

from scrapy_neardup.evidence.sources import LONGEST_URL, USUAL_PORTS, Newest, ascii_host, host_of, remembered, source_of
from scrapy_neardup.exceptions import InputError

_MOBILE_HOST = re.compile(r"^(?:(?:www\d?|amp|m|mobile?|touch|wap|pda)\.)+(?=[^.]+\.)")
# The domains of Google are named one by one: anybody can register google.attacker.com, or google under a new suffix.
_GOOGLE = (
    "com|ae|at|be|bg|by|ca|ch|cl|cz|de|dk|dz|ee|es|fi|fr|gr|hr|hu|ie|it|kz|lk|lt|lu|lv|nl|no|pl|pt|ro|rs|se|si|sk|tn|"
    "co.(?:cr|id|il|in|jp|ke|kr|ma|nz|th|tz|ug|uk|ve|za|zm|zw)|"
    "com.(?:ar|au|bd|bo|br|co|ec|eg|et|gh|gt|hk|kh|kw|lb|ly|mt|mx|my|ng|np|pe|ph|pk|pr|py|sa|sg|tr|tw|ua|uy|vn)"
).replace(".", r"\.")
_AMP_CACHE = re.compile(
    rf"(?:[\w-]+\.cdn\.ampproject\.org/[acv]|(?:www\.)?google\.(?:{_GOOGLE})/amp)/s/([^/]+)(.*)", re.DOTALL
)
_FORM_PATH = re.compile(
    r"^/(?:amp|m|mobile|print(?:able)?)(?=/.)"  # /amp/news/bridge
    r"|(?<=.)/(?:amp|print(?:able)?)(?=/.)"  # /news/amp/bridge
    r"|(?:/amp|(?<=.)/print(?:able)?)(?:\.html?|\.php)?/?$"  # /news/bridge/amp
    r"|(?:[._]|(?<=[0-9])-)(?:amp|print(?:able)?)(?=(?:\.html?)?/?$)"  # /news/bridge.amp.html
)
_FORM_PARAMETER = re.compile(
    "(?:amp|mobile|print(?:able|_?view)?)=(?:1|true|yes|on|amp|print)?|tmpl=component"
    "|(?:output(?:type)?|view|format|action|mode|version|type|tmpl)=(?:amp|mobile|print(?:able|er)?)",
    re.IGNORECASE,
)
_SESSION = re.compile(r";(?:jsessionid|phpsessid|sid)=[^/?]*", re.IGNORECASE)
# courlan knows trackers by name, but some of these may number an article (cid, eid, uid). The ones below never do.
_NUMBERED_TRACKER = re.compile(r"^(?:utm|ga|mc|pk|mtm|itm|mkt|vero)_|clid$", re.IGNORECASE)

_MOST_PAGES = 3  # with one canonical url; if more pages share it, the site has made a mistake


def without_surrogates(text: str) -> str:
    """Return the text with U+FFFD for each lone surrogate, which can be neither encoded nor stored."""
    return text if text.isascii() else re.sub("[\ud800-\udfff]", "\ufffd", text)


def absolute_url(base: str, url: str) -> str:
    """Return the url that a page at ``base`` names, "" if it is not a url.

    The part of a url after ``LONGEST_URL`` characters is appended as it is.
    """
    try:
        return urljoin(base[:LONGEST_URL], url[:LONGEST_URL]) + url[LONGEST_URL:]
    except ValueError:
        return ""


@remembered
def url_identity(url: str) -> str:
    """Return the identity of a page: urls of the same page have the same one. It is "" without a web address.

    Scheme, ``www.``, AMP, mobile and print forms, tracking parameters, the fragment, and the spelling of characters as
    in ``%c3%a9``, ``%C3%A9`` and ``é`` make no difference.
    """
    from courlan import normalize_url

    if not (host := host_of(url)):
        return ""
    if len(url) > LONGEST_URL:
        return f"{host}/#{xxhash.xxh3_128_hexdigest(url.encode('utf-8', 'surrogatepass'))}"
    try:
        parts = urlsplit(without_surrogates(url))
        if "/s/" in parts.path and (cached := _AMP_CACHE.fullmatch(ascii_host(parts) + parts.path)):
            parts = parts._replace(netloc=cached[1], path=cached[2])
        parts = parts._replace(path=_in_one_spelling(_SESSION.sub("", parts.path)))
        port = None if parts.port == USUAL_PORTS[parts.scheme] else parts.port
        path = urlsplit(normalize_url(urlunsplit(parts._replace(netloc="x", query="", fragment="")))).path
        # A fragment that begins with ! is a page of its own, in sites that route by it.
        route = f"#{_in_one_spelling(parts.fragment)}" if parts.fragment.startswith("!") else ""
    except ValueError:
        return ""
    site = _MOBILE_HOST.sub("", ascii_host(parts)) + (f":{port}" if port else "")
    path = _FORM_PATH.sub("", path).rstrip("/")
    # The parameters that tell one page from another, in one order.
    parameters = sorted(pair for pair in parameters_of(parts.query) if not _is_ignored(*pair))
    # ``m=1`` alone is the mobile form of a page on many blogs. Next to other parameters ``m`` may be a month.
    if not parameters or parameters in ([("m", "0")], [("m", "1")]):
        return f"{site}{path}{route}"
    return f"{site}{path}?{urlencode(parameters, errors='surrogateescape')}{route}"


def require_page(url: str) -> str:
    """Return the identity of the page that a url names. Raise InputError, a ValueError, if it is no web address."""
    if not (identity := url_identity(url)):
        raise InputError(f"{url!r} is not a web address such as https://example.com/page")
    return identity


def _in_one_spelling(part: str) -> str:
    """Return a path or fragment as RFC 3986 (6.2.2) normalises it: a character has an escape only if it needs one."""
    # Characters that delimit parts of a url are not the same as their escapes. What else needs an escape gets it here.
    return re.sub(
        "%[0-9A-Fa-f]{2}",
        lambda escape: quote(unquote_to_bytes(escape[0]), safe=""),
        quote(part, safe="%/:?#[]@!$&'()*+,;="),
    )


def parameters_of(query: str) -> list[tuple[str, str]]:
    # A word without a value may be all that names the article: /articles/?3769767
    return parse_qsl(query, keep_blank_values=True, errors="surrogateescape")  # escapes need not be UTF-8


def _is_ignored(name: str, value: str) -> bool:
    """Decide whether a parameter names no page: it is a tracker, or asks for the AMP, mobile or print form."""
    from courlan.clean import clean_query

    if _FORM_PARAMETER.fullmatch(f"{name}={value}"):
        return True
    is_number = value.isdigit() and not _NUMBERED_TRACKER.search(name)
    return not is_number and not clean_query(urlencode({name: "1"}, errors="surrogateescape"))


class CanonicalUrls:
    """The canonical urls of the pages of one crawl. A url that many pages give as their own is ignored."""

    def __init__(self) -> None:
        # Hashes, because a page can make its urls as long as it likes.
        self._pages = Newest[int, set[int]](4096)

    def of(self, given: str, url: str) -> str:
        """Return the canonical url of a page, or its ``url``. ``given`` is the url that the page gives as its own.

        A copy may give the page of the original publisher. The copy is still a page of its own.
        """
        canonical = own_url(given, url)
        if not canonical or source_of(canonical) != source_of(url):
            return url
        identity = url_identity(canonical)
        own = url_identity(url)
        if identity == own:
            return canonical
        shared = xxhash.xxh3_64_intdigest(identity.encode("utf-8", "surrogatepass"))
        pages = self._pages[shared] = self._pages.get(shared, set())
        if len(pages) <= _MOST_PAGES:
            pages.add(xxhash.xxh3_64_intdigest(own.encode("utf-8", "surrogatepass")))
        return canonical if len(pages) <= _MOST_PAGES else url


def own_url(given: str, url: str) -> str:
    """Return the url that a page at ``url`` gives as its own. It is "" if the page gives none, or a front page."""
    own = absolute_url(url, given)
    try:
        parts = urlsplit(own)
    except ValueError:
        return ""
    if not given or (parts.path in ("", "/") and not parts.query) or any(mark in own for mark in "{}<>"):
        return ""
    return own


# Article numbers

_UUID = re.compile(r"(?<![0-9a-f])[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![0-9a-f])", re.IGNORECASE)
_DIVIDER = re.compile(r"[-_.,~=:]")
_DIGITS = re.compile(r"[A-Za-z]{0,12}([0-9]{5,20})")  # shorter numbers are counts, prices and years
# Letters and digits take turns, as in c4gd2lxz3zxo; or they are capitals and digits, as in idUSKBN1XO2QX.
_CODE = re.compile(r"(?=.{9,24}$)(?:[a-z]+[0-9]+){3,}[a-z]*|(?=.{9,26}$)(?:id)?(?:[A-Z]+[0-9]+){2,}[A-Z]*")
_DAY = "(?:0[1-9]|[12][0-9]|3[01])"
_MONTH = "(?:0[1-9]|1[0-2])"
_TIME = "(?:[01][0-9]|2[0-3])(?:[0-5][0-9]){1,2}"
_DATE = re.compile(
    rf"(?:19|20)[0-9]{{2}}{_MONTH}(?:{_DAY}(?:{_TIME})?)?|[12][0-9]{_MONTH}{_DAY}"
    rf"|(?:{_DAY}{_MONTH}|{_MONTH}{_DAY})(?:(?:19|20)[0-9]{{2}}|[12][0-9])"
)
# The number behind one of these words is that of a list of articles.
_LIST = re.compile(
    r"(?:hash)?tags?|authors?|users?|profiles?|persons?|people|members?|contributors?|columnists?|reporters?|search|"
    r"aut(?:or|ores|oren|eur|eurs|ori)|etiquetas?|labels?|keywords?|topics?|(?:sub)?categor(?:y|ies|ia|ias|ie|ien)|cat|"
    r"sections?|rubri[ckq](?:s|a|i|as|en|ue|ues)?|th?em(?:a|as|en|y)|forums?|threads?|channels?|series|dossiers?|pages?",
    re.IGNORECASE,
)
_PAGE = r"(?:page|seite|pagina|página|strona|sida|sivu|stranica|halaman|trang)"
_FIRST_PAGE = re.compile(rf"(?:/|[-_,.])(?:{_PAGE}[-_/]?|p)?0?[01]$|(?<=[0-9]{{5}})[-_,.]0?[01]$", re.IGNORECASE)
_OTHER_PAGE = re.compile(
    rf"(?:/(?:p|{_PAGE}[-_=/]?)?|[-_,.]{_PAGE}[-_]?|(?<=[0-9]{{5}})[-_,.])[0-9]{{1,3}}$|/comments?$", re.IGNORECASE
)
_PAGE_NAME = re.compile(rf"{_PAGE}|p|pg|pag|paged|page_?(?:no|num|number|id)|start|offset", re.IGNORECASE)
_ARTICLE = r"(?:article|artikel|articulo|art|news|noticia|story|item|post|doc|document|content|node)"
_NUMBER_NAME = re.compile(
    rf"p|[ans]?id|idx|no|nr|num|{_ARTICLE}|(?:.*[-_.:])?{_ARTICLE}_?(?:id|idx|no|nr|num)", re.IGNORECASE
)


@remembered
def article_number(url: str) -> str:
    """Return the number by which the site of a url knows the article, "" if there is none or it is unclear.

    The number is the same under another slug or section, and in the AMP, mobile and print forms of the page. It is
    only unique within one source. Dates, pages after the first, and numbers of lists (tags, authors) do not count.
    A figure at an end of a slug does: two documents with one number are the same page only if they are alike.
    """
    path, _, query = url_identity(url).partition("#")[0].partition("?")
    # Without the ending of a file, such as ".html".
    path = _FIRST_PAGE.sub("", re.sub(r"(?<=.)(?:,00?|[-_])?\.[A-Za-z]{2,6}$", "", path))
    parameters = parameters_of(query)
    if any(_PAGE_NAME.fullmatch(name) and re.fullmatch("(?!0*1?$)[0-9]{1,3}", value) for name, value in parameters):
        return ""
    # A word without a value may name the article: /articles/?3769767
    numbers = _numbers(value or name for name, value in parameters if _NUMBER_NAME.fullmatch(name) or not value)
    if not numbers and not _OTHER_PAGE.search(path):
        numbers = _numbers(segment for before, segment in pairwise(path.split("/")) if not _LIST.fullmatch(before))
    # The number of a section, or a figure in the slug, is shorter than the article's.
    most = max(map(len, numbers), default=0)
    longest = [number for number in numbers if len(number) == most]
    return longest[0] if len(longest) == 1 else ""


def _numbers(segments: Iterable[str]) -> set[str]:
    """Return the numbers at either end of segments, "3769767" for "3769767-bridge-reopens"; also codes and UUIDs."""
    numbers = set[str]()
    for segment in segments:
        if uuid := _UUID.search(segment):
            numbers.add(uuid[0].lower())
            continue
        tokens = _DIVIDER.split(segment)
        for token in (tokens[0], tokens[-1]):
            if re.fullmatch(r"(?=.*[0-9])(?=.*[a-f])[0-9a-f]{12,40}", token) or _CODE.fullmatch(token):
                numbers.add(token)
            elif (digits := _DIGITS.fullmatch(token)) and not _DATE.fullmatch(digits[1]):
                numbers.add(digits[1])
    return numbers
