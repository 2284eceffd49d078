"""What a url says of a document: the forms of one page are one page, and two pages stay two."""

from __future__ import annotations

import string
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.content.head import read_head
from scrapy_neardup.content.urls import CanonicalUrls, article_number, url_identity
from scrapy_neardup.evidence.sources import platform_of, require_domain, source_of

pytestmark = pytest.mark.versions

PAGE = "https://www.wire.example/news/bridge?id=7"


@pytest.mark.parametrize(
    "form",
    [
        "http://www.wire.example/news/bridge?id=7",
        "https://wire.example/news/bridge?id=7",
        "https://WIRE.example:443/news//bridge/?id=7",
        "https://m.wire.example/news/bridge?id=7",
        "https://amp.wire.example/news/bridge?id=7",
        "https://www.wire.example/amp/news/bridge?id=7",
        "https://www.wire.example/news/bridge/amp/?id=7",
        "https://www.wire.example/news/bridge.amp?id=7",
        "https://www.wire.example/news/bridge?id=7&amp=1",
        "https://www.wire.example/news/bridge?outputType=amp&id=7",
        "https://www.wire.example/news/amp/bridge?id=7",
        "https://www.m.wire.example/news/bridge?id=7",
        "https://touch.wire.example/news/bridge?id=7",
        "https://www.wire.example/mobile/news/bridge?id=7",
        "https://www.wire.example/m/news/bridge?id=7",
        "https://www.wire.example/news/bridge?mobile=1&id=7",
        "https://www.wire.example/print/news/bridge?id=7",
        "https://www.wire.example/news/print/bridge?id=7",
        "https://www.wire.example/news/bridge/print?id=7",
        "https://www.wire.example/news/bridge/print/?id=7",
        "https://www.wire.example/news/bridge/print.html?id=7",
        "https://www.wire.example/news/bridge?id=7&print=1",
        "https://www.wire.example/news/bridge?id=7&print",
        "https://www.wire.example/news/bridge?id=7&printable=true",
        "https://www.wire.example/news/bridge?id=7&view=print",
        "https://www.wire.example/news/bridge?id=7&format=print",
        "https://www.wire.example/news/bridge?id=7&action=print",
        "https://www.wire.example/news/bridge?id=7&tmpl=component&print=1",
        "https://www-wire-example.cdn.ampproject.org/c/s/www.wire.example/news/bridge?id=7",
        "https://www.google.com/amp/s/www.wire.example/news/bridge?id=7",
        "https://google.co.uk/amp/s/amp.wire.example:443/news/bridge?id=7",
        "https://user:password@wire.example./news/bridge?id=7",
        "https://www.wire.example/news/bridge?id=7&utm_source=feed&utm_id=12&fbclid=Iw3&gclid=9",
        "https://www.wire.example/news/bridge?ref=home&id=7",
        "https://www.wire.example/news/bridge?id=7#comments",
        "https://www.wire.example/news/bridge;jsessionid=0A1B?id=7",
    ],
)
def test_forms_of_one_page(form: str) -> None:
    assert url_identity(form) == url_identity(PAGE)


@pytest.mark.parametrize(
    "form",
    [
        "https://wire.example/news/bridge-1234567-amp.html",
        "https://wire.example/news/bridge-1234567.amp.html",
        "https://wire.example/news/bridge-1234567_amp.html",
        "https://wire.example/news/bridge-1234567-print.html",
        "https://wire.example/news/bridge-1234567.print.html",
        "https://wire.example/news/bridge-1234567.html?m=1",
    ],
)
def test_forms_of_one_file(form: str) -> None:
    assert url_identity(form) == url_identity("https://wire.example/news/bridge-1234567.html")
    assert article_number(form) == "1234567"


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


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("https://wire.example/a%2Fb", "https://wire.example/a/b"),
        ("https://wire.example/a?q=%e8", "https://wire.example/a?q=%e9"),
        ("https://wire.example/a%2561", "https://wire.example/aa"),
        ("https://wire.example/best-guitar-amp", "https://wire.example/best-guitar"),
        ("https://wire.example/how-to-print", "https://wire.example/how-to"),
        ("https://wire.example/print", "https://wire.example/"),
        ("https://wire.example/news?y=2019&m=1", "https://wire.example/news?y=2019"),
        ("https://wire.example/view?print=101", "https://wire.example/view?print=102"),
        ("https://wire.example/news/bridge?page=2", "https://wire.example/news/bridge"),
        ("https://wire.example/news/bridge/page/2", "https://wire.example/news/bridge"),
        ("https://wire.example/news/bridge/2", "https://wire.example/news/bridge"),
        ("https://wire.example/news/bridge-seite-2", "https://wire.example/news/bridge"),
        ("https://wire.example/articles/?3769767", "https://wire.example/articles/?3769771"),
        ("https://wire.example/view?cid=101", "https://wire.example/view?cid=102"),
        ("https://wire.example/view?uid=101&p=1", "https://wire.example/view?uid=102&p=1"),
        ("https://wire.example/?p=1", "https://wire.example/?p=2"),
        ("https://wire.example/amp", "https://wire.example/volt"),
        ("https://wire.example/", "https://m.example/"),
        ("https://wire.example:8080/a", "https://wire.example/a"),
        ("https://wire.example/A", "https://wire.example/a"),
        ("https://wire.example/новости/1", "https://wire.example/новости/2"),
        *(
            (f"https://{host}/s/wire.example/a", "https://wire.example/a")
            for host in (
                "google.attacker.com/amp",
                "google.com.attacker.com/amp",
                "www.google.attacker.com/amp",
                "google.attacker.co.uk/amp",
                "google.blogspot.com/amp",
                "google.com.de/amp",
                "google.example/amp",
                "google.news/amp",
                "www.google.com@attacker.com/amp",
                "notgoogle.com/amp",
                "www.google.com/amp/x",
                "x.cdn.ampproject.org.attacker.com/c",
                "xcdn.ampproject.org/c",
                "attacker.com\\x.cdn.ampproject.org/c",
            )
        ),
    ],
)
def test_two_pages_stay_two(one: str, other: str) -> None:
    assert url_identity(one) != url_identity(other)


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


@pytest.mark.parametrize(
    ("host", "source", "platform"),
    [
        ("www.harbour.blogspot.com", "harbour.blogspot.com", "blogspot.com"),
        ("blogspot.com", "blogspot.com", "blogspot.com"),
        ("www.substack.com", "substack.com", "substack.com"),
        ("en.blog.wordpress.com", "blog.wordpress.com", "wordpress.com"),
        ("press.uk.com", "press.uk.com", "uk.com"),
        ("bucket.s3.amazonaws.com", "bucket.s3.amazonaws.com", "amazonaws.com"),
        ("news.bbc.co.uk", "bbc.co.uk", "bbc.co.uk"),
        ("news.harbour.intranet", "harbour.intranet", "harbour.intranet"),
        *[
            (host, "127.0.0.1", "127.0.0.0/24")
            for host in (
                "127.0.0.1:8000",
                "127.1",
                "127.0.1:8001",
                "2130706433",
                "0x7f.1",
                "0x7F000001",
                "0177.0.0.1",
                "127.0.0.1.",
                "１２７．０．０．１",
                "[::ffff:127.0.0.1]",
                "[::ffff:7f00:1]",
                "[0:0:0:0:0:ffff:7f00:1]",
                "[64:ff9b::7f00:1]",
                "[2002:7f00:1::]",
            )
        ],
        ("203.0.113.77", "203.0.113.77", "203.0.113.0/24"),
        *[
            (host, "2001:db8::a", "2001:db8::/64")
            for host in ("[2001:db8::a]", "[2001:DB8:0:0::000A]:8000", "[2001:db8::0.0.0.10]")
        ],
        ("[fe80::1%25eth0]", "fe80::1", "fe80::/64"),
        ("[::1]:8000", "::1", "::/64"),
        ("wire", "wire", "localhost"),
        ("localhost", "localhost", "localhost"),
    ],
)
def test_a_publisher_on_a_platform_is_a_source_of_its_own(host: str, source: str, platform: str) -> None:
    assert (source_of(f"https://{host}/a"), platform_of(source)) == (source, platform)


@pytest.mark.parametrize("name", ["com", "co.uk", "https://co.uk/a", "", "https://", "[cut"])
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
        head('<link rel="canonical" href="https://www.wire.example">'),
        head('<link rel="canonical">'),
        head('<link rel="canonical" href="http://[">'),
        head('<link rel="canonical" href="javascript:void(0)">'),
        head('<link rel="not-canonical" href="/other">'),
    ],
    ids=["none", "another publisher", "front page", "front page, bare", "empty", "broken", "no url", "another rel"],
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


# Article numbers


# Numbers that are neither days nor round figures.
NUMBERS = st.integers(1_000_001, 18_999_999).filter(lambda number: number % 1000).map(str)
WORDS = st.text(string.ascii_lowercase, min_size=2, max_size=8).filter(lambda word: word not in ("amp", "print", "cat"))
SLUGS = st.lists(WORDS, min_size=2, max_size=6).map("-".join)
SECTIONS = st.sampled_from(["news", "sport", "world/africa", "politik", "новости", "2019/11/15", "a/b-c", "news/2"])
SHAPES = st.sampled_from(
    [
        "{section}/{slug}-{number}.html",
        "{section}/{slug}_{number}",
        "{section}/{number}-{slug}.php",
        "{section}/{number}/{slug}",
        "{section}/{slug}/{number}/",
        "{section}/article-{number}/{slug}.html",
        "{section}/{slug}/a-{number}",
        "{section}/{slug}/articleshow/{number}.cms",
        "{section}/{slug}-n{number}",
        "{section}/{slug}-1.{number}",
        "{section}/{slug}?id={number}",
        "{section}/view.aspx?utm_source=feed&newsid={number}&lang=en",
        "{section}/?{number}",
    ]
)


@given(SHAPES, NUMBERS, st.tuples(SECTIONS, SLUGS), st.tuples(SECTIONS, SLUGS))
def test_a_number_outlives_slug_and_section(
    shape: str, number: str, one: tuple[str, str], other: tuple[str, str]
) -> None:
    forms = [
        "https://wire.example/" + shape.format(section=section, slug=slug, number=number)
        for section, slug in (one, other)
    ]

    assert [article_number(form) for form in forms] == [number, number]


@pytest.mark.parametrize(
    ("url", "number"),
    [
        ("https://wire.example/article/us-bridge-falls-idUSKBN1XO2QX", "idUSKBN1XO2QX"),
        ("https://wire.example/article/amp/idUSKBN1XO2QX", "idUSKBN1XO2QX"),
        ("https://wire.example/science/20191115-OYT1T50095/", "OYT1T50095"),
        ("https://wire.example/business/15/11/2019/5dcdf68f9a79478a77505e34", "5dcdf68f9a79478a77505e34"),
        ("https://wire.example/bridge-falls-5dcdf68f9a79478a77505e34.html", "5dcdf68f9a79478a77505e34"),
        ("https://wire.example/articles/c4gd2lxz3zxo", "c4gd2lxz3zxo"),
        (
            "https://wire.example/a/bridge/9E94B2C4-9164-11e6-9c85-ac42097b8cc0_story.html",
            "9e94b2c4-9164-11e6-9c85-ac42097b8cc0",
        ),
        ("https://wire.example/2019/11/15/2019111501293.html", "2019111501293"),
        ("https://wire.example/articles/0,7340,L-3773796,00.html", "3773796"),
        ("https://wire.example/19/bridge-falls-119111500068_1.html", "119111500068"),
        ("https://wire.example/ekonomi/20191115000319-85-448499/bridge", "448499"),
        ("https://wire.example/id151715/article/2019-11-15/bridge", "151715"),
        ("https://wire.example/12345/bridge-falls-1234567.html", "1234567"),
        ("https://wire.example/1234567/why-12500-people-left", "1234567"),
        ("https://wire.example/bridge-1234567?page=1", "1234567"),
        ("https://wire.example/1234567/bridge/page/1", "1234567"),
        ("https://amp-wire-example.cdn.ampproject.org/c/s/amp.wire.example/bridge-1234567", "1234567"),
        ("https://wire.example/bridge-1234567/print", "1234567"),
        ("https://wire.example/author/jane-doe/the-bridge-falls-1234567.html", "1234567"),
    ],
)
def test_numbers_of_many_sites(url: str, number: str) -> None:
    assert article_number(url) == number


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


@pytest.mark.parametrize(
    "path",
    (
        "news/bridge-falls|news/covid-19|news/top-10|news/boeing-737|news/2019|news/firm-cuts-5000-jobs|"
        "news/COVID19VACCINE|news/550e8400|tag/12345|tag/bridge-12345|author/123456|author/jane-doe-123456|"
        "topic/1234567-bridges|category/12345/|rubrik/12345|view?page=12345|view?author=12345|348135/348721"
    ).split("|"),
)
def test_what_is_no_number(path: str) -> None:
    assert article_number(f"https://wire.example/{path}") == ""


@pytest.mark.parametrize(
    "path",
    (
        "bridge-1234567?page=2 bridge-1234567?seite=12 1234567/bridge?p=2 1234567/bridge/page/2 "
        "1234567/bridge/page-2 1234567/bridge/2 bridge-1234567/2/ bridge-1234567-2.html bridge-1234567_2.html "
        "bridge-1234567,page-2.html 1234567-seite-2 1234567/bridge/comments"
    ).split(),
)
def test_a_further_page_of_an_article_has_no_number(path: str) -> None:
    assert article_number(f"https://wire.example/{path}") == ""
