"""The words of a page as its reader sees them: the lead is there, and what is struck out is not."""

import json
from collections.abc import Callable

import pytest

from scrapy_neardup import NearDupDetector
from scrapy_neardup.content.extractors import extract_with_resiliparse, extract_with_trafilatura
from scrapy_neardup.content.whole_text import whole_text

pytestmark = pytest.mark.versions

HEADLINE = "Ferry sinks off Skerrow in a storm"
LEAD = "{} people died when a ferry sank off Skerrow in a storm on Tuesday night, the coast guard said."
BODY = (
    "The ship left the harbour of Lenvik in the evening, although the mountain road to the south was open.",
    "Fishermen from the island heard cries for help, and took their boats out in spite of the waves.",
    "The steering had failed twice in the spring, and the owner had promised to replace the pumps.",
    "Schools on the island stay closed for the week, and the theatre has cancelled its concerts.",
    "Divers will look for the bridge recorder as soon as the wind has calmed down, the ministry wrote.",
)

TEXT = "\n".join(BODY)


def page(lead: str, *, headline: str = HEADLINE, head: str = "", below: str = "") -> str:
    paragraphs = "".join(f"<p>{each}</p>" for each in BODY)
    menu = "".join(f"<li><a href=/{number}>News from the district number {number}</a></li>" for number in range(20))
    return (
        f"<!doctype html><html lang=en><head><meta charset=utf-8><title>{headline} | Northwire</title>{head}</head>"
        f"<body><div><h1><a href=/>Northwire</a></h1><ul>{menu}</ul></div><main><article><h1>{headline}</h1>{lead}"
        f"<div class=byline>By Jane Doe, our reporter on the island of Skerrow, 3 March 2026</div>{below}{paragraphs}"
        "</article></main><footer><p>Imprint | Privacy</p></footer></body></html>"
    )


def with_trafilatura(html: str) -> str:
    return extract_with_trafilatura(html, "https://www.northwire.example/ferry")


def with_resiliparse(html: str) -> str:
    pytest.importorskip("resiliparse")
    return extract_with_resiliparse(html, "https://www.northwire.example/ferry")


def completed(html: str) -> str:
    """What is made of a text without a lead."""
    return whole_text(html, lambda html: TEXT)


Extract = Callable[[str], str]
both = pytest.mark.parametrize("extract", [with_trafilatura, with_resiliparse])

LEADS = {
    "paragraph": "<p>{}</p>",
    "link": "<p><a href=/live>{}</a></p>",
    "bold link": "<div><p><a href=/live><strong>{}</strong></a></p></div>",
    "strong alone": "<strong>{}</strong>",
    "deck in a section": "<section class=article-dek><span>{}</span></section>",
    "deck in a div": "<div class='subtitle'>{}</div>",
    "deck in a heading": "<h2>{}</h2>",
    "list of key points": "<ul class=summary><li>{}</li></ul>",
}


@both
@pytest.mark.parametrize("form", LEADS)
def test_the_lead_stands_once_before_the_rest(extract: Extract, form: str) -> None:
    lead = LEAD.format("Nine")
    text = extract(page(LEADS[form].format(lead)))
    assert text.count(lead) == 1
    assert text.index(lead) < text.index(BODY[0])
    assert all(each in text for each in BODY)


DESCRIBED_LEAD = "<section><span>Nine died on a boat near Sule, and there are more than forty missing.</span></section>"


def test_the_description_of_a_page_shows_which_paragraph_is_its_lead() -> None:
    description = "<meta property=og:description content='Nine died on a boat near Sule; forty are missing'>"
    assert completed(page(DESCRIBED_LEAD, head=description)).startswith("Nine died on a boat near Sule")
    assert completed(page(DESCRIBED_LEAD)) == TEXT


DESCRIBED = "Nine died on a boat near Sule; forty are missing"
ARTICLE = {"@type": "NewsArticle", "headline": HEADLINE, "description": DESCRIBED}
LINKED_DATA = {
    "article": ARTICLE,
    "list": [{"@type": "WebSite", "description": "News from the north"}, ARTICLE],
    "graph": {
        "@context": "https://schema.org",
        "@graph": [{"@type": "Person", "description": "Our reporter"}, ARTICLE],
    },
    "several types": ARTICLE | {"@type": ["ReportageNewsArticle", "Article"]},
    "main entity": {"@type": "WebPage", "mainEntity": ARTICLE},
}


@pytest.mark.parametrize("place", ["head", "body"])
@pytest.mark.parametrize("form", LINKED_DATA)
def test_the_description_may_be_in_json_ld(form: str, place: str) -> None:
    script = f'<script type="application/ld+json">\n{json.dumps(LINKED_DATA[form])}</script>'
    html = page(DESCRIBED_LEAD, head=script if place == "head" else "")
    assert completed(html if place == "head" else html + script).startswith("Nine died on a boat near Sule")


OTHER_DATA = {
    "of the publisher": {"@type": "NewsMediaOrganization", "description": DESCRIBED},
    "of a teaser": {"@type": "ItemList", "itemListElement": [ARTICLE]},
    "no text": ARTICLE | {"description": [DESCRIBED]},
    "nested": [[[[[[ARTICLE]]]]]],
}


@pytest.mark.parametrize(
    "data", [*map(json.dumps, OTHER_DATA.values()), "{", "[" * 100_000, '{"description": 1}', "null", "\ud800"]
)
def test_other_or_damaged_json_ld_shows_no_lead(data: str) -> None:
    assert completed(page(DESCRIBED_LEAD, head=f"<script type=application/ld+json>{data}</script>")) == TEXT


NO_LEADS = {
    "teaser": "<p><a href=/77>Twelve people died when a ferry sank off Sule in a storm years ago</a></p>",
    "other news": "<p><a href=/78>Twelve people are ill after a wedding in Port Agnes, the doctors said.</a></p>",
    "caption": "<div class=wp-caption><p>Twelve people sat in the ferry off Skerrow in the storm.</p></div>",
    "share": "<div class=share-bar><p>Twelve people shared Ferry sinks off Skerrow in a storm.</p></div>",
    "hidden in a comment": "<!-- <p>Twelve people died when a ferry sank off Skerrow in a storm.</p> -->",
    "headline": f"<div class=sticky-title>{HEADLINE}</div>",
    "above the headline": "</article><article><h1>Twelve people died in a bus in Lenvik on Monday night.</h1>"
    f"<p>Twelve people died when a bus sank off Skerrow in a storm.</p><h1>{HEADLINE}</h1>",
}


@pytest.mark.parametrize("form", NO_LEADS)
def test_what_is_no_lead_stays_out(form: str) -> None:
    assert completed(page("", below=NO_LEADS[form])) == TEXT


@pytest.mark.parametrize("html", ["", "<h1>", "<p>No headline.</p>", page("").replace("h1>", "h3>")])
def test_without_a_headline_nothing_is_added(html: str) -> None:
    assert completed(html) == TEXT
    assert whole_text(html, lambda html: "") == ""


OTHER_LANGUAGES = [
    ("حريق في فندق في بلمورا", "لقي تسعة أشخاص مصرعهم في حريق اندلع في فندق في البلدة القديمة في بلمورا ليلة الأحد."),
    ("斯凯罗附近渡轮沉没", "海岸警卫队表示，星期二晚上一艘渡轮在斯凯罗附近的暴风雨中沉没，造成九人死亡，多人失踪。"),
]


@pytest.mark.parametrize(("headline", "lead"), OTHER_LANGUAGES)
def test_a_lead_in_any_language(headline: str, lead: str) -> None:
    text = with_trafilatura(page(f"<p><a href=/live><b>{lead}</b></a></p>", headline=headline))
    assert text.count(lead) == 1


STRUCK = {
    "s": "<s>Four</s> Nine",
    "old tag": "<STRIKE>Four</STRIKE> Nine",
    "del and ins": "<del datetime='2026-03-03'><b>Four</b></del> <ins>Nine</ins>",
    "style": "<span style='color: red; text-decoration: line-through'>Four</span> Nine",
    "a part of a word": "<s>Four</s>Nine",
}


@both
@pytest.mark.parametrize("form", STRUCK)
def test_what_is_struck_out_is_not_said(extract: Extract, form: str) -> None:
    text = extract(page(f"<p>{LEAD.format(STRUCK[form])}</p>"))
    assert "Four" not in text
    assert LEAD.format("Nine") in text


@pytest.mark.parametrize(
    "html", ["<s>Four died.<p>Nine died.", "<section>Nine</section>", "<span>a</span>", "<s></s>" * 9 + "<svg>s</svg>"]
)
def test_nothing_else_is_taken_for_struck_out(html: str) -> None:
    assert whole_text(html, str) == html.replace("<s></s>", "")


CAPS = {
    '<p><span class="drop-cap">N</span>\nine people': "Nine people",
    "<p><b>N</b> ine people": "Nine people",
    '<p><span style="float: left">T</span> he storm': "The storm",
    '<p><span class="drop-cap">О</span>\nдиннадцать человек': "Одиннадцать человек",
    '<p><span class="drop-cap">O</span>\nnze personnes': "Onze personnes",
    '<p><span class="dropcap">D</span>\n<span class=small-caps>OZENS OF</span> people': "DOZENS OF people",
    '<p><span class="dropcap">A</span> man': "A man",
    "<p><b>X</b> users": "X users",
    '<p><span class="label">Q</span> Why did': "Q Why did",
}


@both
@pytest.mark.parametrize("begin", CAPS)
def test_a_large_first_letter_belongs_to_its_word(extract: Extract, begin: str) -> None:
    text = extract(page(f"{begin} died when a ferry sank off Skerrow in a storm on Tuesday night, they said.</p>"))
    assert f"\n{CAPS[begin]} died" in text


@pytest.mark.parametrize(
    "changed",
    [
        *(LEADS[form].format(LEAD) for form in ("bold link", "deck in a section")),
        "<p><s>4</s> " + LEAD + "</p>",
        '<p><span class="drop-cap">{}</span>\n{}' + LEAD[2:] + "</p>",
    ],
)
@both
async def test_a_copy_with_another_toll_in_such_a_place_is_an_update(
    detector: NearDupDetector, extract: Extract, changed: str
) -> None:
    new = changed.format("N", "ine") if changed.count("{}") == 2 else changed.format("Nine")
    for number, lead in enumerate((f"<p>{LEAD.format('Four')}</p>", new)):
        url = f"https://www.paper{number}.example/ferry"
        verdict = await detector.check(detector.document(extract(page(lead)), url=url, title=HEADLINE))
    assert (verdict.status, verdict.changes) == ("update", ("dead: 4 -> 9",))
