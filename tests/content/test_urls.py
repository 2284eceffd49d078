"""What a url says of a document: the forms of one page are one page, and two pages stay two."""

import string
from datetime import date
from pathlib import Path

import pytest
from cases import read_cases
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.content.head import read_head
from scrapy_neardup.content.urls import CanonicalUrls, article_number, url_identity
from scrapy_neardup.evidence.sources import platform_of, require_domain, source_of

pytestmark = pytest.mark.versions

PAGE = "https://www.wire.example/news/bridge?id=7"
CASES = read_cases(Path(__file__).with_name("urls.txt"))
"""By what is said of them, urls and what is expected."""


@pytest.mark.parametrize("kind", ["forms of one page", "forms of one file"])
def test_forms_of_one_page(kind: str) -> None:
    ((first,), *forms) = CASES[kind]
    assert [form for (form,) in forms if url_identity(form) != url_identity(first)] == []
    assert {article_number(form) for (form,) in forms} == {"1234567" if kind.endswith("file") else ""}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("/%d8%a5/caf%c3%a9?q=%c3%a9", "/%D8%A5/caf%C3%A9?q=%C3%A9"),
        ("/إ/café?q=é", "/%D8%A5/caf%C3%A9?q=%C3%A9"),
        ("/%7Ejoe/a%2Db%2e1?%71=1", "/~joe/a-b.1?q=1"),
        ("/%61mp/a b?q=%e9", "/a%20b?q=%E9"),
        ("/#!/%d8%a5", "/#!/إ"),
    ],
)
def test_a_url_has_one_spelling(one: str, other: str) -> None:
    assert url_identity(f"https://wire.example{one}") == url_identity(f"https://wire.example{other}") != ""


def test_two_pages_stay_two() -> None:
    assert [pair for pair in CASES["two pages"] if len({*map(url_identity, pair)}) < 2] == []


@pytest.mark.parametrize(
    "host", ["BÜCHER.example", "www.xn--bcher-kva.example.", "bücher。example", "ｂücher.example:443"]
)
def test_a_host_in_another_alphabet_has_one_form(host: str) -> None:
    url = f"https://{host}/a?id=7"
    cached = f"https://www.google.com/amp/s/{host}/a?id=7"
    assert source_of(url) == require_domain(host) == "xn--bcher-kva.example"
    assert url_identity(url) == url_identity(cached) == "xn--bcher-kva.example/a?id=7"


@pytest.mark.parametrize(
    "host",
    ["xn--é.de", "xn--.example", "ü" * 80 + ".example", "ü..example", "-ü.example", "ü" * 1900, "\ud800ü.de", "i❤.ws",
     "ü\u200d.example", "。。", "1.2.3.4。", "x" * 80 + ".example", "ü_x.example:99999", "ü:x", "[ü]", "%ff.example"],
)  # fmt: skip
def test_no_host_raises(host: str) -> None:
    for url in (f"https://{host}/a", f"https://www.google.com/amp/s/{host}/a", f"https://a@{host}"):
        assert isinstance(platform_of(source_of(url)), str)
        assert isinstance(url_identity(url), str)
        assert isinstance(article_number(url), str)


def test_a_publisher_on_a_platform_is_a_source_of_its_own() -> None:
    cases = CASES["source and platform of a host"]
    sources = [(host, source_of(f"https://{host}/a")) for host, *_ in cases]
    assert [(host, source, platform_of(source)) for host, source in sources] == cases


@pytest.mark.parametrize(
    "name", ["com", "co.uk", "https://co.uk/a", "", "https://", "[cut", "reuters", "https://paper"]
)
def test_a_public_suffix_is_no_source(name: str) -> None:
    with pytest.raises(ValueError, match="is not a source: give a domain such as"):
        require_domain(name)


@given(st.text())
def test_any_text_has_an_identity_and_a_number_or_none(text: str) -> None:
    assert article_number(text) == ""
    assert isinstance(article_number(f"https://wire.example/{text}"), str)
    url_identity(text)
    assert isinstance(url_identity(f"https://wire.example/{text}"), str)
    assert isinstance(url_identity(f"https://{text}/a"), str)
    assert isinstance(source_of(f"https://{text}.example/"), str)


# <link rel=canonical>


def canonical_url(html: str, url: str) -> str:
    return CanonicalUrls().of(read_head(html).canonical, url)


def head(*links: str) -> str:
    return f"<html><head><title>Bridge</title>{''.join(links)}</head><body><p>Text</p></body></html>"


@pytest.mark.parametrize(
    "link",
    [
        '<link rel="canonical" href="https://www.wire.example/news/bridge?id=7&amp;page=2">',
        "<LINK HREF='https://www.wire.example/news/bridge?id=7&#38;page=2' REL='canonical' />",
        "<link data-x=1 rel=canonical href=/news/bridge?id=7&page=2>",
    ],
)
def test_a_page_says_what_its_url_is(link: str) -> None:
    html = head('<link rel="stylesheet" href="/style.css">', link)
    assert canonical_url(html, "https://www.wire.example/x?y=1") == "https://www.wire.example/news/bridge?id=7&page=2"


@pytest.mark.parametrize(
    "html",
    [
        head(),
        head('<link rel="canonical" href="https://other.example/news/bridge">'),
        head('<link rel="canonical" href="/">'),
        head('<link rel="canonical">'),
        head('<link rel="canonical" href="http://[">'),
        head('<link rel="not-canonical" href="/other">'),
    ],
    ids=["none", "another publisher", "front page", "empty", "broken", "another rel"],
)
def test_a_page_that_does_not_keeps_its_url(html: str) -> None:
    assert canonical_url(html, PAGE) == PAGE


@pytest.mark.parametrize(
    "before",
    [
        '<!-- <link rel="canonical" href="/old"> -->',
        """<script>var link = '<link rel="canonical" href="/template">';</script>""",
        '<template><link rel="canonical" href="/template"></template>',
    ],
    ids=["comment", "script", "template"],
)
def test_what_is_no_element_of_the_page_is_passed_over(before: str) -> None:
    assert canonical_url(f'{before}<link rel="canonical" href="/real">', PAGE) == "https://www.wire.example/real"


def test_a_url_that_many_pages_give_as_their_own_is_none_of_theirs() -> None:
    urls = CanonicalUrls()
    pages = [f"https://wire.example/news/{number}" for number in range(6)]
    found = [urls.of("/news/all", page) for page in [*pages, pages[0]]]
    assert found == ["https://wire.example/news/all"] * 3 + [*pages[3:], pages[0]]


# Numbers that are neither days nor round figures.
NUMBERS = st.integers(1_000_001, 18_999_999).filter(lambda number: number % 1000).map(str)
WORDS = st.text(string.ascii_lowercase, min_size=2, max_size=8).filter(lambda word: word not in ("amp", "print", "cat"))
SLUGS = st.lists(WORDS, min_size=2, max_size=6).map("-".join)
SECTIONS = st.sampled_from(["news", "sport", "world/africa", "politik", "новости", "2019/11/15", "a/b-c", "news/2"])
SHAPES = st.sampled_from([shape for (shape,) in CASES["places of a number"]])


@given(SHAPES, NUMBERS, st.tuples(SECTIONS, SLUGS), st.tuples(SECTIONS, SLUGS))
def test_a_number_outlives_slug_and_section(
    shape: str, number: str, one: tuple[str, str], other: tuple[str, str]
) -> None:
    forms = [
        "https://wire.example/" + shape.format(section=section, slug=slug, number=number)
        for section, slug in (one, other)
    ]
    assert [article_number(form) for form in forms] == [number, number]


def test_numbers_of_many_sites() -> None:
    cases = CASES["article numbers"]
    assert [(url, article_number(url)) for url, _ in cases] == cases


DAYS = st.dates(date(1995, 1, 1), date(2045, 12, 31))
FORMATS = st.sampled_from(
    ["%Y%m%d", "%d%m%Y", "%m%d%Y", "%Y/%m/%d", "%Y-%m-%d", "%d-%m-%Y", "%Y%m", "%Y%m%d%H%M%S", "%Y"]
)
PLACES = st.sampled_from(
    ["{}", "news/{}", "news/{}/bridge-falls", "news/bridge-falls-{}.html", "news/{}-bridge", "?id={}"]
)


@given(DAYS, FORMATS, PLACES)
def test_a_date_is_no_number(day: date, form: str, place: str) -> None:
    assert article_number("https://wire.example/" + place.format(day.strftime(form))) == ""


def test_what_is_no_number_and_further_pages_of_an_article_have_none() -> None:
    paths = [path for (path,) in CASES["no article numbers"]]
    assert [path for path in paths if article_number(f"https://wire.example/{path}")] == []
