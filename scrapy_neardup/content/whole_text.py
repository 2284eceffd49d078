"""Keep what a reader of a page sees: extractors lose the lead of an article, and misread some inline markup.

Everything here takes linear time, and next to none on most pages.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from html import unescape
from typing import NamedTuple

from scrapy_neardup.content.head import linked_data
from scrapy_neardup.evidence.titles import terms_of
from scrapy_neardup.text.folding import fold
from scrapy_neardup.text.words import count_words

# Words that are struck out

_STRUCK_END = re.compile("</(?:s|del|strike)>", re.IGNORECASE)
_STRUCK = re.compile(
    r"<(?:(s|del|strike)(?:\s[^<>]{0,500})?|(span|font|b|i|em|strong|u|a)\s[^<>]{0,500}?line-through[^<>]{0,500})>"
    r"[^<]{0,2000}(?:<(?!/?(?:\1|\2)\b)[^<]{0,2000}){0,20}</(?:\1|\2)\s*>",
    re.IGNORECASE,
)

# Letters that a theme prints large

_CAP = re.compile(r"^[^\w\s]{0,3}([^\W\d_])(\s+)([^\W\d_]{1,40})", re.MULTILINE)
_BEFORE_CAP = re.compile(r"<\w+([^<>]{0,300})>(?:[^\w<>]|&\w{1,9};){0,4}$")

# Paragraphs between the headline and the text

_HEADINGS = "h1", "h2"
_RUN = re.compile(r">\s*([^<>]{20,2000})")  # what may be part of a lead
_LEAST_WORDS = 8  # of a paragraph with a stop at its end
_TEXT_READ = 5000  # characters in which the first paragraph of a text is looked for
_PLACE = 40  # characters without spaces that find a paragraph in a text
_INLINE = frozenset(
    "a abbr b bdi bdo big br cite code dfn em font i img ins kbd mark q small span strong sub sup time u var"
    " wbr".split()
)
_NO_TEXT = (
    "aside audio button dialog figcaption figure footer form iframe menu nav noscript object script select style svg"
    " template textarea video".split()
)
_NO_LEAD = re.compile(
    "caption|(?<![a-z])credit|byline|author|shar(?:e|ing)|social|gallery|promo|newsletter|subscri|cookie|consent"
    "|related|recommend|read-?(?:more|also)|advert|banner|popup|modal|login|comment|menu|breadcrumb|player|copyright"
)
_LEAD = re.compile(
    "de(?:k|ck)(?![a-z])|(?<![a-z])(?:lead(?!er)|lede|intro)|standfirst|sub-?(?:title|head)|summary|abstract|excerpt"
    "|teaser|chap[eoô]|sapo|ingress|vorspann|entradilla|bajada|copete|sommario|occhiello|anons"
)
_LEAD_TAG = re.compile(f"<h[23]\\b|{_LEAD.pattern}")
_NO_LEAD_TAG = re.compile(f"<(?:h1|script|style|figcaption)\\b|{_NO_LEAD.pattern}")
_ENDS = re.compile("\\w{3}[\"'”’»)]?[.!?…](?!\\w)|[。！？।॥؟۔።]")  # of a sentence
_TITLES = (
    re.compile("<title\\b[^<>]{0,300}>([^<>]{1,500})"),
    re.compile("""og:title["']?\\s+content\\s?=\\s?["']([^<>]{1,500})"""),
)
_DESCRIPTION = re.compile("""description["']?\\s+content\\s?=\\s?["']([^<>]{1,1000})""")
_STOPS = re.compile("[.!?…。！？।॥؟۔።][\"'”’»)\\]\\s]*$")


class _Block(NamedTuple):
    """A part of a page without block elements inside, such as a paragraph or a heading."""

    text: str
    tag: str
    marks: str  # the values of class, id and itemprop of the elements around it and in it
    linked: int  # characters in links


def whole_text(html: str, extract: Callable[[str], str]) -> str:
    """Return the text that an extractor finds in a page, with its lead, with whole words, and with nothing struck out.

    What stands above the first headline is left as it is.
    """
    headline = re.search(r"<[hH]1[\s>]", html)
    start = headline.start() if headline else 0
    # What is struck out behind the headline is no longer said.
    if _STRUCK_END.search(html, start) or html.find("line-through", start) >= 0:
        html = html[:start] + _STRUCK.sub("", html[start:])
    text = extract(html)
    # Let the large first letter of a paragraph belong to its word: "N ine" becomes "Nine". Few paragraphs at the
    # beginning have one.
    for cap in reversed([*_CAP.finditer(text, 0, 20_000)][:5]):
        if _is_split(cap, text, html):
            text = text[: cap.start(2)] + text[cap.end(2) :]
    return _with_lead(text, html, start) if headline else text


def _is_split(cap: re.Match[str], text: str, html: str) -> bool:
    """Decide whether a letter and the word behind it are one word, whose first letter has an element of its own."""
    letter, _, rest = cap.groups()
    if letter.islower() or (rest[0].isupper() and not rest.isupper()):
        return False
    alone = re.search(rf"{letter}\s{{0,9}}</\w+>\s*(?:<[^<>]{{0,300}}>\s*){{0,9}}{rest}", html)
    if alone is None:
        return False
    from scrapy_neardup.evidence.figures.number_words import all_languages  # loads tables that few pages need

    word = fold(letter + rest).casefold()
    is_number = any(word in each.small or word in each.scales for each in all_languages().by_name.values())
    is_known = is_number or f" {letter.lower()}{rest} " in text
    is_word = letter.casefold() in "aàáâãeéèêiíìoóòôuúyýwzksvåöőηοабвжийкосуяєі"  # of some language
    opened = _BEFORE_CAP.search(html[max(0, alone.start() - 400) : alone.start()])
    is_styled = opened is not None and ("class" in opened[1] or "style" in opened[1])
    return opened is not None and (is_known or (is_styled and not is_word))


def _with_lead(text: str, html: str, start: int) -> str:
    """Return a text with the paragraphs that the page has between headline and text, if they tell the news.

    They stand before the first paragraph of the text. A teaser of another article, a caption or a notice is no lead.
    """
    end = _end_of_first_paragraph(text, html, start)
    if not end:
        return text
    known = _squeezed(fold(text[:_TEXT_READ]))
    lost: list[_Block] = []
    for block in _blocks(html[start:end]):
        if block.tag not in _HEADINGS and count_words(block.text) < _LEAST_WORDS:
            continue
        key = _squeezed(fold(block.text))
        if block.tag == "h1" or (key[:_PLACE] not in known and key[-_PLACE:] not in known):
            lost.append(block)
        elif _is_paragraph(block.text):
            # Put the lead before the line that begins with this paragraph.
            lines = text.split("\n")
            behind = next((at for at, line in enumerate(lines) if key[:_PLACE] in _squeezed(fold(line))), 0)
            return "\n".join([*lines[:behind], *_lead_of(lost, html, start), *lines[behind:]])
    return text


def _end_of_first_paragraph(text: str, html: str, start: int) -> int:
    """Return where the first paragraph of a text ends in its page, 0 if nothing like a lead is before it."""
    known = _squeezed(text[:_TEXT_READ])
    end = start + 30_000  # characters, within which nearly every lead stands
    may_have_lead = False
    for run in _RUN.finditer(html, start, end):
        if count_words(run[1]) < _LEAST_WORDS:
            continue
        if _squeezed(unescape(run[1]))[:_PLACE] not in known:
            # It may be part of a lead by itself, or by the tags before it.
            tags = html[max(start, run.start() - 300) : run.start() + 1].lower()
            is_refused = _NO_LEAD_TAG.search(tags[tags.rfind("<") :])
            may_have_lead = may_have_lead or (not is_refused and bool(_ENDS.search(run[1]) or _LEAD_TAG.search(tags)))
        elif _is_paragraph(run[1]):
            end = run.end()
            break
    return end if may_have_lead else 0


def _is_paragraph(text: str) -> bool:
    """Decide whether a piece of a page is one or more sentences, or a part of them, and no byline or headline."""
    words = count_words(text)
    # So many words are a sentence also without a full stop.
    return words >= 20 or (words >= _LEAST_WORDS and _STOPS.search(text) is not None)


def _lead_of(blocks: list[_Block], html: str, start: int) -> list[str]:
    """Return the texts of those blocks behind the last headline that are part of a lead."""
    head = html[:start]
    title = _terms(head, *_TITLES)
    articles = (part.get("description") for part in linked_data(html) if "Article" in str(part.get("@type")))
    descriptions = [_terms(head, _DESCRIPTION), *(terms_of(each) for each in articles if isinstance(each, str))]
    headline = frozenset[int]()
    lead: dict[str, None] = {}
    for block in blocks:
        terms = terms_of(block.text)
        if block.tag in _HEADINGS and 2 * len(terms & title) >= len(terms):
            headline = terms
            lead.clear()
        elif block.tag != "h1" and _is_part_of_lead(block, terms, headline, descriptions):
            lead[block.text] = None
    return list(lead)


def _terms(head: str, *patterns: re.Pattern[str]) -> frozenset[int]:
    """Return the terms of the first text that one of the patterns finds in the head of a page."""
    found = next(filter(None, (pattern.search(head) for pattern in patterns)), None)
    return terms_of(unescape(found[1])) if found else frozenset()


def _is_part_of_lead(
    block: _Block, terms: frozenset[int], headline: frozenset[int], descriptions: Sequence[frozenset[int]]
) -> bool:
    """Decide whether a block is part of a lead: it says what headline or description say, or is marked as a lead."""
    if not headline or terms <= headline or _NO_LEAD.search(block.marks) or count_words(block.text) < _LEAST_WORDS:
        return False
    if any(2 * len(terms & each) > len(terms) for each in descriptions):
        return True
    shares_terms = len(terms & headline) >= min(2, len(headline))
    is_sentence = _STOPS.search(block.text) is not None
    if block.linked > 0.7 * len(block.text):  # it is a link
        # "Read more: ..." is a teaser.
        return shares_terms and is_sentence and not re.match("[^.!?]{0,30}:", block.text)
    return _LEAD.search(block.marks) is not None or (shares_terms and (is_sentence or block.tag in ("h2", "h3")))


def _blocks(html: str) -> Iterator[_Block]:
    from lxml.etree import Comment, HTMLParser, strip_elements
    from lxml.html import fromstring

    tree = fromstring(html.encode("utf-8", "replace"), parser=HTMLParser(encoding="utf-8"))
    strip_elements(tree, Comment, *_NO_TEXT, with_tail=False)
    for end in tree.iter("br"):
        end.tail = f" {end.tail or ''}"
    elements = [tree]
    while elements:
        element = elements.pop()
        if any(each.tag not in _INLINE for each in element.iterdescendants()):
            elements.extend(reversed(element))
        elif text := " ".join("".join(element.itertext()).split()):
            marks = " ".join(
                each.get(name, "")
                for each in (*element.iterancestors(), *element.iter())
                for name in ("class", "id", "itemprop")
            ).lower()
            yield _Block(
                text,
                str(element.tag),
                marks,
                linked=sum(len("".join(link.itertext())) for link in element.iter("a")),
            )


def _squeezed(text: str) -> str:
    return "".join(text.split())
