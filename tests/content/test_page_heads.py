"""The title of a page stands in for the title that its item does not have."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from json_lines import read_lines, write_lines
from news_site import Answer, NewsSite, article, page
from projects import ITEM_A_PAGE, NOTING, Project
from scrapy.http import HtmlResponse

from scrapy_neardup.content.head import read_head
from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.tools.lab.feed import read_feed
from scrapy_neardup.tools.lab.replay import PageReader, RecordedPage

pytestmark = pytest.mark.versions

OG = '<meta property="og:title" content="By the network">'
TITLE = "<title>By the page</title>"

HEADS = {
    "og:title": (OG + TITLE, "By the network"),
    "og:title as a name": ("<META content='Turned round' NAME=og:title>", "Turned round"),
    "no quotes": ("<meta property=og:title content=Unquoted>", "Unquoted"),
    "a greater-than sign": ('<meta property="og:title" content="4 > 3 dead">', "4 > 3 dead"),
    "an empty og:title": ('<meta property="og:title" content=" ">' + TITLE, "By the page"),
    "another property": ('<meta property="og:title:alt" content="No">' + TITLE, "By the page"),
    "title alone": (
        "<TITLE lang=en>\n  Two &amp; three\n\tlines&nbsp;&#8211; here </TITLE>",
        "Two & three lines – here",
    ),
    "in a comment": ("<!-- <title>No</title> " + OG + "-->" + TITLE, "By the page"),
    "in a script": ("<script>'<title>No</title>'" + OG + "</script><style>" + OG + "</style>" + TITLE, "By the page"),
    "a comment in a script": ("<script><!-- </script>" + TITLE, "By the page"),
    "behind the head": ("</head>" + TITLE, ""),
    "without an end": ("<title>By the page", ""),
    "long": (f"<title>{'x' * 2000}</title>", "x" * 500),
}


@pytest.mark.parametrize("name", HEADS)
def test_the_title_is_read_from_the_head(name: str) -> None:
    head, title = HEADS[name]
    html = f"<!doctype html><html><head>{head}"
    assert read_head(html).title == title
    assert read_head(html.encode()).title == title


PARTS = [
    *(head for head, _ in HEADS.values()),
    *("<html lang=de>", "<head>", "</head>", "<body>", "<title>", "</title>", "<!--", "-->", "<script>", "</script>"),
    *("<link rel=canonical href='/here", "'", '<meta content="', '"', ">", "<p>", "x" * 700, "y" * 3000, " a=b" * 900),
]


HTML = st.lists(st.sampled_from(PARTS), max_size=8).map("".join)


@given(HTML, st.integers(5900, 6100), HTML)
def test_the_rest_of_a_page_changes_nothing_in_a_whole_head(html: str, gap: int, rest: str) -> None:
    beginning = html + "z" * gap
    if (head := read_head(beginning)).is_whole:
        assert head == read_head(beginning + rest)


LINKED = """<script type="application/ld+json">{"@graph": [
{"@type": "NewsArticle", "articleSection": ["World", "Sports"],
 "publisher": {"@type": "Organization", "name": "Courier"}},
{"@type": "BreadcrumbList", "itemListElement": [{"name": "Home"}, {"item": {"name": "Football"}}]}]}</script>"""
SAID = {
    "linked data": (LINKED, "World Sports Home Football", "Courier"),
    "properties": (
        '<meta property="article:section" content="Life &amp; style"><meta property="og:site_name" content="Post">'
        f"</head><body>{LINKED}",
        "Life & style World Sports Home Football",
        "Post",
    ),
    "no json": ('<script type="application/ld+json">{"articleSection": "Sports",</script>', "", ""),
    "deep": (f'<script type="application/ld+json">{{"articleSection": {"[" * 600}{"]" * 600}}}</script>', "", ""),
    "too deep": (f'<script type="application/ld+json">{"[" * 100_000}</script>', "", ""),
    "names of names": (
        '<script type="application/ld+json">{"publisher": {"name": [1, {"name": null}]}}</script>',
        "",
        "",
    ),
}


@pytest.mark.parametrize("name", SAID)
def test_a_page_says_its_section_and_its_publisher(name: str) -> None:
    html, section, publisher = SAID[name]
    head = read_head(f"<!doctype html><html><head>{html}".encode())
    assert (" ".join(head.section.split()), head.site_name) == (section, publisher)


CHARSETS = {
    "utf-8": ("Жёлтый дом", "utf-8"),
    "windows-1251": ("Жёлтый дом", "windows-1251"),
    "shift_jis": ("港町の新聞", "shift_jis"),
    "gb2312": ("港口城市的新闻", "gb18030"),
    "iso-8859-1": ("Café “à la carte”", "cp1252"),
    "windows-1252": ("Café “à la carte”", "utf-8"),
}


def in_charset(charset: str) -> tuple[bytes, str]:
    title, encoding = CHARSETS[charset]
    html = page(article("charset"), title=title).replace("utf-8", charset)
    return html.encode(encoding), title


@pytest.mark.parametrize("charset", CHARSETS)
@pytest.mark.parametrize("is_cut", [False, True], ids=["short", "cut"])
def test_bytes_are_decoded_by_what_the_page_says(charset: str, is_cut: bool) -> None:
    """Also of a page whose head has no end within what is looked at."""
    body, title = in_charset(charset)
    if is_cut:
        body = body.partition(b"</head>")[0] + b"<link href='\xd0\xb9'>" * 20_000
    assert read_head(body).title == title


def test_a_byte_order_mark_counts() -> None:
    assert read_head("<title>Жёлтый дом</title>".encode("utf-16")).title == "Жёлтый дом"


HEADLINES = """
class News(Pages):
    def parse(self, response):
        number = int(response.url.rpartition("/")[2])
        yield {"page": response.url, "title": "By the item"} if number == 5 else {"page": response.url}
"""


def test_a_crawl_takes_title_and_section_of_the_page_if_the_item_has_none(project: Project, site: NewsSite) -> None:
    body, title = in_charset("windows-1251")
    body = body.replace(b"</head>", b'<meta property="article:section" content="Sports"></head>')
    # More than the 16 that the rule needs: one of them, under its other title, may be taken for a wall.
    urls = [site.publish(f"/{number}", Answer(body, "text/html")) for number in range(18)]
    events = {"NEARDUP_EVENT_RULE": "count", "NEARDUP_EVENTS_FEED": "events.jsonl", "NEARDUP_EXTRACT_TIMEOUT": 60}
    project.crawl(HEADLINES, urls=urls, **NOTING, **events)
    (report,) = read_lines(project.folder / "events.jsonl")
    titles = {member["url"].rpartition("/")[2]: member["title"] for member in report["members"]}
    assert titles.pop("5", "By the item") == "By the item"
    assert set(titles.values()) == {title}
    assert report["section"] == "sport"


RUSSIAN = """Жёлтый дом на набережной сгорел в среду вечером, сообщили пожарные. Из здания вывели сорок человек, никто
не пострадал. Причину пожара выясняют следователи, улицу перекрыли до утра. Дом построили в позапрошлом веке."""


def test_a_page_that_declares_no_encoding_is_read_as_scrapy_reads_it(project: Project, site: NewsSite) -> None:
    html = page(f"{RUSSIAN} " * 3, title="Жёлтый дом").replace("<meta charset='utf-8'>", "")
    declared, undeclared = html.encode(), html.encode("windows-1251")
    assert b"charset" not in undeclared
    urls = [site.publish("/declared", Answer(declared, "text/html; charset=utf-8"))]
    urls.append(site.publish("/undeclared", Answer(undeclared, "text/html")))
    crawl = project.crawl(ITEM_A_PAGE, urls=urls, CONCURRENT_REQUESTS=1)
    is_right = HtmlResponse(urls[1], body=undeclared).encoding == "cp1251"  # older versions of Scrapy guess less
    assert [item["neardup_status"] for item in crawl.items] == ["original", "duplicate" if is_right else "original"]


def test_a_recorded_page_has_its_own_title_if_its_line_has_none(tmp_path: Path) -> None:
    body, title = in_charset("windows-1251")
    (tmp_path / "page.html").write_bytes(body)
    rows = [
        {"id": 1, "file": "page.html"},
        {"id": 2, "file": "page.html", "title": "By the line"},
        {"id": 3, "html": page(article("one"), title="By the page")},
        {"id": 4, "text": article("two")},
    ]
    write_lines(tmp_path / "in.jsonl", rows)
    with PageReader(NearDupSettings(), workers=1) as reader:
        pages = list(reader.read(read_feed(tmp_path / "in.jsonl")))
    assert [each.title for each in pages if isinstance(each, RecordedPage)] == [title, "By the line", "By the page", ""]
