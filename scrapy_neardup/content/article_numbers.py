"""Read the number that a site gives an article from its url, whatever slug and section the url has."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from scrapy_neardup.content.urls import parameters_of, remembered, url_identity

_FILE_ENDING = re.compile(r"(?<=.)(?:,00?|[-_])?\.[A-Za-z]{2,6}$")
_UUID = re.compile(r"(?<![0-9a-f])[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![0-9a-f])", re.IGNORECASE)
_DIVIDER = re.compile(r"[-_.,~=:]")
_DIGITS = re.compile(r"[A-Za-z]{0,12}([0-9]{5,20})")  # shorter numbers are counts, prices and years
_HEX = re.compile(r"(?=.*[0-9])(?=.*[a-f])[0-9a-f]{12,40}")
# Letters and digits take turns, as in c4gd2lxz3zxo; or they are capitals and digits, as in idUSKBN1XO2QX.
_CODE = re.compile(r"(?=.{9,24}$)(?:[a-z]+[0-9]+){3,}[a-z]*|(?=.{9,26}$)(?:id)?(?:[A-Z]+[0-9]+){2,}[A-Z]*")
_DAY, _MONTH = "(?:0[1-9]|[12][0-9]|3[01])", "(?:0[1-9]|1[0-2])"
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
    path = _FIRST_PAGE.sub("", _FILE_ENDING.sub("", path))
    parameters = parameters_of(query)
    if any(_is_later_page(*pair) for pair in parameters):
        return ""
    found = {*_in_query(parameters)}
    if not found and not _OTHER_PAGE.search(path):
        found = {*_in_path(path.split("/"))}
    # The number of a section, or a figure in the slug, is shorter than the article's.
    most = max(map(len, found), default=0)
    longest = [number for number in found if len(number) == most]
    return longest[0] if len(longest) == 1 else ""


def _is_later_page(name: str, value: str) -> bool:
    return bool(_PAGE_NAME.fullmatch(name) and re.fullmatch("[0-9]{1,3}", value)) and int(value) > 1


def _in_query(parameters: list[tuple[str, str]]) -> Iterator[str]:
    for name, value in parameters:
        if _NUMBER_NAME.fullmatch(name) or not value:  # /articles/?3769767
            yield from _in_segment(value or name)


def _in_path(segments: list[str]) -> Iterator[str]:
    for before, segment in pairwise(segments):
        if not _LIST.fullmatch(before):
            yield from _in_segment(segment)


def _in_segment(segment: str) -> Iterator[str]:
    """Find numbers at either end of a segment."""
    if uuid := _UUID.search(segment):
        yield uuid[0].lower()
        return
    tokens = _DIVIDER.split(segment)
    for token in (tokens[0], tokens[-1]):
        if _HEX.fullmatch(token) or _CODE.fullmatch(token):
            yield token
        elif (digits := _DIGITS.fullmatch(token)) and not _DATE.fullmatch(digits[1]):
            yield digits[1]
