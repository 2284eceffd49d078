"""Read the number that a site gives an article from its url, whatever slug and section the url has."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date

from scrapy_neardup.content.urls import parameters_of, remembered, url_identity

_SHORTEST, _LONGEST = 5, 20  # digits; shorter numbers are counts, prices and years
_DAY = 86_400  # seconds

_FILE_ENDING = re.compile(r"(?<=.)(?:,00?|[-_])?\.[A-Za-z]{2,6}$")
_UUID = re.compile(r"(?<![0-9a-f])[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![0-9a-f])", re.IGNORECASE)
_HEX = re.compile(r"[0-9a-f]{12,40}")
_DIGIT = re.compile("[0-9]")
_PARTS = re.compile(r"[0-9]+|[A-Za-z]+")
_DIVIDER = re.compile(r"[-_.,~=:]")
_LABELLED = re.compile(r"([A-Za-z]{0,12})[-_.=~]?([0-9]+)")
_AT_END = re.compile(r"(?:^|[-_.,~=:])([A-Za-z]{0,10})([0-9]+)$")
_AT_START = re.compile(r"([0-9]+)[-_.,~]")
_ROUND = re.compile(r"[0-9]{3,4}00|[0-9]+000")  # 25000 jobs
_TELEPHONE = re.compile(r"0[0-9]{9,10}|[178][0-9]{10}")
_AREA_CODE = re.compile(r"(?:^|[-_.])(?:0[0-9]+|[0-9]{3})$|(?:\+|%2B)[0-9]+(?:[-_.][0-9]+)*$")

# A number in the segment after one of these words belongs to a list of articles. After a word for persons, so do the
# numbers in all later segments.
_PERSON = re.compile(
    r"(?:hash)?tags?|authors?|users?|profiles?|persons?|people|members?|contributors?|columnists?|reporters?|search|"
    r"aut(?:or|ores|oren|eur|eurs|ori)|etiquetas?|labels?|keywords?",
    re.IGNORECASE,
)
_LIST = re.compile(
    rf"{_PERSON.pattern}|topics?|(?:sub)?categor(?:y|ies|ia|ias|ie|ien)|cat|sections?|rubri[ckq](?:s|a|i|as|en|ue|ues)?|"
    r"th?em(?:a|as|en|y)|forums?|threads?|channels?|series|dossiers?|pages?",
    re.IGNORECASE,
)
_PAGE = r"(?:page|seite|pagina|página|strona|sida|sivu|stranica|halaman|trang)"
_PAGE_SEGMENT = re.compile(rf"(?:{_PAGE}[-_=]?|p)?([0-9]{{1,3}})", re.IGNORECASE)
_PAGE_SUFFIX = re.compile(
    rf"(?:[-_,.]{_PAGE}[-_]?([0-9]{{1,3}})(?=$|[-_,.])|(?<=[0-9]{{5}})[-_,.]([0-9]{{1,3}})$)", re.IGNORECASE
)
_PAGE_NAME = re.compile(rf"{_PAGE}|p|pg|pag|paged|page_?(?:no|num|number|id)|start|offset", re.IGNORECASE)
# The comments of an article have their own page.
_COMMENTS = re.compile(r"comments?|comentarios|kommentare|commentaires|commenti", re.IGNORECASE)
_ARTICLE = r"(?:article|artikel|articulo|art|news|noticia|story|item|post|doc|document|content|node)"
_NUMBER_NAME = re.compile(
    rf"p|[ans]?id|idx|no|nr|num|{_ARTICLE}|(?:.*[-_.:])?{_ARTICLE}_?(?:id|idx|no|nr|num)", re.IGNORECASE
)


@remembered
def article_number(url: str) -> str:
    """Return the number by which the site of a url knows the article, "" if there is none or it is unclear.

    The number is the same under another slug or section, and in the AMP, mobile and print forms of the page. It is
    only unique within one source. Dates, pages after the first, and numbers of lists (tags, authors) do not count.
    """
    path, _, query = url_identity(url).partition("#")[0].partition("?")
    parameters = parameters_of(query)
    segments = [segment for segment in path.split("/")[1:] if segment]
    found = set(_in_query(parameters))
    while found and segments and segments[-1].isdecimal():
        # The query has the number of the article, so a number at the end of the path is a day or a section.
        segments.pop()
    first = _first_page(segments)
    if first is None or any(_is_later_page(*pair) for pair in parameters):
        return ""
    found.update(_in_path(first))
    # The number of a section, or a figure in the slug, is shorter than the article's.
    most = max(map(len, found), default=0)
    longest = [number for number in found if len(number) == most]
    return longest[0] if len(longest) == 1 else ""


def _is_later_page(name: str, value: str) -> bool:
    return bool(_PAGE_NAME.fullmatch(name) and re.fullmatch("[0-9]{1,3}", value)) and int(value) > 1


def _first_page(segments: list[str]) -> list[str] | None:
    """Return the path of an article's first page without page number and file ending, None if it is another page."""
    if not segments:
        return []
    *before, last = segments
    last = _FILE_ENDING.sub("", last)
    page = _PAGE_SEGMENT.fullmatch(last) or _PAGE_SUFFIX.search(last)
    if _COMMENTS.fullmatch(last) or (page is not None and int(page[page.lastindex or 1]) > 1):
        return None
    if page is None:
        return [*before, last]
    if page.start() > 0:
        return [*before, last[: page.start()] + last[page.end() :]]
    return before[:-1] if before and re.fullmatch(_PAGE, before[-1], re.IGNORECASE) else before


def _in_path(segments: list[str]) -> Iterator[str]:
    of_person = False
    for place, (before, segment) in enumerate(zip(["", *segments], segments, strict=False)):
        of_person = of_person or bool(_PERSON.fullmatch(before))
        if not _DIGIT.search(segment) or _LIST.fullmatch(before):
            continue
        after = len(segments) - 1 - place
        whole = _of_segment(segment)
        numbers = _in_slug(segment) if not whole else [] if of_person else [whole]
        # A short number far from the end belongs to a section.
        yield from (number for number in numbers if len(number) > _SHORTEST or after < (2 if whole else 1))


def _of_segment(segment: str) -> str:
    """Return the number that a whole segment stands for, or "" if there is none."""
    uuid = _UUID.search(segment)
    if uuid:
        return uuid[0].lower()
    return segment if _is_code(segment) or _is_mixed(segment) else _labelled(segment)


def _labelled(segment: str) -> str:
    """Return the number of a segment such as 1234567, article-1234567 or newsid=1234567, "" if there is none."""
    found = _LABELLED.fullmatch(segment)
    if found is None or not _can_number(found[2]) or _LIST.fullmatch(found[1]):
        return ""
    return "" if found[1] and _is_figure(found[2]) else found[2]


def _in_slug(segment: str) -> Iterator[str]:
    """Find numbers at either end of a slug."""
    if _LABELLED.fullmatch(segment):
        return
    start, end = _AT_START.match(segment), _AT_END.search(segment)
    if start and _can_number(start[1]) and not _is_figure(start[1]):
        yield start[1]
    if end and _can_number(end[2]) and not _LIST.fullmatch(end[1]):
        # Letters in front of the digits show an article number, not a figure: n2542760
        is_number = end[1] or not (_is_figure(end[2]) or _AREA_CODE.search(segment[: end.start()]))
        yield from [end[2]] if is_number else []
    tokens = _DIVIDER.split(segment)
    yield from filter(_is_code, {tokens[0], tokens[-1]})


def _can_number(digits: str) -> bool:
    return _SHORTEST <= len(digits) <= _LONGEST and not _is_date(digits)


def _is_figure(digits: str) -> bool:
    """Decide whether a number in a slug may be a count, a price or a telephone number."""
    return bool(_ROUND.fullmatch(digits) or _TELEPHONE.fullmatch(digits))


def _is_code(token: str) -> bool:
    """Decide whether a token is hexadecimal, or mixes capitals and digits as in idUSKBN1XO2QX. COVID19 is a word."""
    if _HEX.fullmatch(token):
        return not token.isdecimal() and not token.isalpha()
    code = token.removeprefix("id")
    return 9 <= len(code) <= 24 and code.isupper() and _is_mixed(code, parts=4)


def _is_mixed(token: str, parts: int = 6) -> bool:
    """Decide whether letters and digits take turns, as in c4gd2lxz3zxo."""
    return 9 <= len(token) <= 24 and token.isascii() and token.isalnum() and len(_PARTS.findall(token)) >= parts


def _is_date(digits: str) -> bool:
    """Decide whether digits are a month, a day or a minute: 201911, 20191115, 191115, 201911151430."""
    if len(digits) == 6:
        day_last = "20" + digits[4:] + digits[2:4] + digits[:2]
        month_first = "20" + digits[4:] + digits[:4]
        # Six digits are often an article's number, so only days since 2010 are taken for days.
        recent = [day for day in ("20" + digits, day_last, month_first) if "2010" <= day[:4] <= "2030"]
        return any(map(_is_day, recent)) or _is_day(digits + "01")
    if len(digits) == 8:
        return _is_day(digits) or _is_day(digits[4:] + digits[2:4] + digits[:2]) or _is_day(digits[4:] + digits[:4])
    if len(digits) in (10, 12, 14) and _is_day(digits[:8]):
        return digits[8:10] < "24" and digits[10:12] < "60" and digits[12:14] < "60"
    return len(digits) == 10 and int(digits) % _DAY == 0


def _is_day(digits: str) -> bool:
    """Decide whether eight digits are a year from 1990 to 2049, a month and a day."""
    try:
        return 1990 <= date(int(digits[:4]), int(digits[4:6]), int(digits[6:])).year < 2050
    except ValueError:
        return False


def _in_query(parameters: list[tuple[str, str]]) -> Iterator[str]:
    for name, value in parameters:
        if not value:
            # /articles/?3769767
            yield from [name] if name.isdecimal() and name.isascii() and _can_number(name) else []
        elif _NUMBER_NAME.fullmatch(name):
            yield from filter(None, [_of_segment(value)])
