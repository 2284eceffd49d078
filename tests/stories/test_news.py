"""The news of a document: the sentences that its story had not told, wherever they are shown."""

from dataclasses import replace

import pytest
from newsdesk import BUDGET, BUDGET_NAMES, MINUTE, Newsroom, opened, report, text

from scrapy_neardup.crawl.component import tags_of
from scrapy_neardup.document import Document, Verdict
from scrapy_neardup.evidence.news import LONGEST_NEWS, MOST_NEWS, news_among, own_sentences, told_by
from scrapy_neardup.records.documents import StoredText
from scrapy_neardup.records.stored_stories import pack_told, read_told
from scrapy_neardup.records.stories import MEMBER, StoryCounters, pack_member, unpack_member
from scrapy_neardup.rules.news import MOST_TOLD, united_told, with_news
from scrapy_neardup.stories.report import special_report
from scrapy_neardup.stories.summary import message_of
from scrapy_neardup.story import Join, Ledger, Member
from scrapy_neardup.tools.ask import Ask
from scrapy_neardup.tools.commands.mcp import quoted

OLD = "A fire broke out in the grain store of Skerrow harbour shortly after noon on Monday."
NEWS = "Inspector Halvorsen arrested 14 dock workers near Tarnfield on Tuesday evening."
REWORDED = "On Monday, shortly after noon, the grain store of the harbour of Skerrow broke out in fire."
ADDED = f"{NEWS}\n{REWORDED}\n"
HOSTILE = (
    'Inspector Halvorsen <script>alert("1")</script>\u202e wrote @everyone of the fire, [free](http://evil.example) '
    "14 *times* today."
)


async def publish_update(room: Newsroom, added: str = ADDED) -> list[Verdict]:
    bodies = f"{OLD}\n{text('fire')}", f"{added}{OLD}\n{text('fire')}"
    return [await room.publish("fire", f"s{n}", n * MINUTE, text=body) for n, body in enumerate(bodies)]


async def test_news_is_what_the_story_had_not_told(newsroom: Newsroom) -> None:
    first, second = await publish_update(newsroom)
    assert first.news == ()
    assert second.news == (NEWS,), "another wording is no news"
    assert tags_of(second)["neardup_news"] == NEWS
    again = await newsroom.publish("fire", "s2", 2 * MINUTE, text=f"{ADDED}{OLD}\n{text('fire', 90)}")
    assert again.news == (), "the story has told it"


async def test_news_is_what_no_part_of_a_united_story_had_told(newsroom: Newsroom) -> None:
    added = "Inspector Halvorsen sold the Tarnfield fire brigade and 14 engines to a museum in Aldmouth."
    first, _ = await publish_update(newsroom, "")
    other = await newsroom.publish("flood", "s9", MINUTE, text=f"{added}\n{text('flood')}")
    assert other.story == other.id != first.story
    part = Member(other.id, "", "", "s9.example", "s9.example", "original")
    await newsroom.detector.index.stories.unite(first.story or "", part)
    late = await newsroom.publish("fire", "s2", 2 * MINUTE, text=f"{added}\n{OLD}\n{text('fire')}")
    assert late.news == (), "the other part has told it"


async def test_a_document_that_is_checked_again_has_the_same_news(newsroom: Newsroom) -> None:
    await newsroom.publish("fire", "s0", 0, text=f"{OLD}\n{text('fire')}")
    document = newsroom.article("fire", "s1", MINUTE, text=f"{ADDED}{OLD}\n{text('fire')}")
    told = [(await newsroom.detector.check(document)).news for _ in range(2)]
    assert told == [(NEWS,), (NEWS,)]


@pytest.mark.parametrize(("language", "is_news"), [("en", True), ("da", False)])
async def test_nobody_knows_what_is_new_beside_a_text_in_another_language(
    newsroom: Newsroom, language: str, *, is_news: bool
) -> None:
    await newsroom.publish("budget", "s0", 0, text=BUDGET, language="en")
    body = f"{NEWS}\n{report(BUDGET_NAMES, 'more')}"
    second = await newsroom.publish("Halvorsen arrested near Tarnfield", "s1", MINUTE, text=body, language=language)
    assert (second.status, second.news) == ("related", (NEWS,) if is_news else ())


async def test_nothing_is_told_without_texts() -> None:
    async with opened(store="memory://", keep_texts=False) as room:
        assert [each.news for each in await publish_update(room)] == [(), ()]


async def test_a_story_answers_with_its_timeline(newsroom: Newsroom) -> None:
    _, second = await publish_update(newsroom)
    answer = await Ask(newsroom.detector).story(second.story or "")
    assert [(each["source"], each["news"]) for each in answer["members"]] == [
        ("s0.example", [OLD]),
        ("s1.example", [NEWS]),
    ]
    assert quoted(answer["members"], "members")[1]["news"] == [{"quoted": NEWS}]
    (row,) = (await Ask(newsroom.detector).stories())["stories"]
    assert [each["news"] for each in row["joined"]] == [[OLD], [NEWS]]


async def test_a_lead_is_quoted_with_its_page(newsroom: Newsroom) -> None:
    for n in range(7):
        await newsroom.publish("fire", f"s{n}", n * MINUTE, text=f"{OLD}\n{text('fire')}", language="en")
    report = special_report(newsroom.events[0])
    assert (report["lead"], report["lead_from"]["language"]) == (OLD, "en")
    assert f"“{OLD}” (s0.example)" in message_of(report).body.replace("\u200b", "")
    report["lead_from"]["language"] = "fi"
    assert f"“{OLD}” (s0.example, fi)" in message_of(report).body.replace("\u200b", "")


@pytest.mark.parametrize(("status", "leads"), [("update", True), ("related", False)])
async def test_an_update_leads_with_the_news_of_the_version_that_made_it(
    newsroom: Newsroom, status: str, *, leads: bool
) -> None:
    """A report in other words may tell of another event."""
    for n in range(7):
        await newsroom.publish("fire", f"s{n}", n * MINUTE, text=f"{OLD}\n{text('fire')}", language="en")
    event = newsroom.events[0]
    members = [
        replace(each, status=status, news=("Five people died.",)) if each.id == event.item else each
        for each in event.members
    ]
    report = special_report(replace(event, level="update", members=tuple(members)))
    assert (report["lead"] == "Five people died.") == leads


async def test_hostile_news_is_a_quotation(newsroom: Newsroom) -> None:
    _, second = await publish_update(newsroom, f"=@{HOSTILE}\n")
    (told,) = second.news
    assert told.startswith("Inspector"), "no formula of a spreadsheet"
    assert "\u202e" not in told
    member = Member("0" * 16, "", "", "a.example", "a", "update", news=(told,))
    report = {"level": "update", "lead": told, "lead_from": {"source": member.source, "language": ""}}
    body = message_of(report).body
    assert not set("<>*`@") & set(body.replace("@\u200b", ""))
    assert "](http://" not in body


def test_a_member_of_an_earlier_release_has_no_news() -> None:
    member = Member("0" * 16, "", "Fire", "a.example", "a", "related", number=2)
    packed = pack_member(member)
    assert MEMBER.fields["news"] == "*"
    assert unpack_member(bytes(8), packed) == member
    assert packed == pack_member(replace(member, news=("A",)))[:-1]


def test_what_a_story_has_told_is_bounded() -> None:
    told = united_told(list(range(MOST_TOLD)), [5, 60_000])
    assert len(told) == MOST_TOLD
    assert told[-1] == 60_000
    assert read_told(pack_told(told)) == told
    assert len(pack_told(told)) == 2 * MOST_TOLD


def test_news_is_bounded() -> None:
    whole = f"{OLD[:-1]} and {NEWS[:-1]}"
    text = f"{whole}, who was there{' ever' * 60}.\n{REWORDED[:-1]}{' again' * 60}.\n{'Skerrow ' * 90}.\n{NEWS}"
    assert own_sentences(text, (), (), is_report=True) == (f"{whole}…",)
    names = "Aberfoyle", "Brindle", "Cardew", "Dunmore", "Eskdale"
    sentences = [f"Inspector {each} fled{' ever' * 60}." for each in names]
    news = news_among(sentences, " and ".join(names), told_by("", "Inspector"), is_version=True)
    assert len(news) == MOST_NEWS
    assert all(len(each) <= LONGEST_NEWS for each in news)


@pytest.mark.parametrize(
    "line",
    [
        "Last week the harbour master of Skerrow resigned after 12 years in office.",
        "In another development, the mayor of Skerrow opened a school for 300 children.",
        "Fishermen of Skerrow have in recent times lost 30 boats in storms of the kind.",
        "Skerrow is one of 12 towns of the coast that pay for their own harbour.",
        "Также 14 ноября суд в Москве оштрафовал порт Скерроу на 300 рублей.",
        "Напомним, 22 октября суд в Москве арестовал директора порта Скерроу.",
        "Нагадаємо, у листопаді суд арештував директора порту Скерроу на 60 днів.",
        "Im vergangenen Jahr hatte der Hafen von Skerrow 40 Arbeiter entlassen.",
        "El mes pasado el puerto de Skerrow despidió a 40 trabajadores del muelle.",
        "وكان الميناء قد أعلن عن تسريح 40 عاملا في وقت سابق.",
    ],
)
def test_background_and_what_follows_it_are_no_news(line: str) -> None:
    rest = "The police counted 30 of them in Tarnfield.\nNobody of them was ever seen again in Tarnfield.\n"
    assert own_sentences(f"{NEWS}\n{line}\n{rest}{REWORDED}", (), ()) == (NEWS, REWORDED)


@pytest.mark.parametrize(
    "line",
    [
        "Subscribe to the Skerrow Herald for 12 coins a month and read everything first.",
        "Об этом сообщают в пресс-службе порта города Скерроу.",
        "Halvorsen disclosed this to the readers of the Tuesday edition.",
        "They arrested 14 dock workers near Tarnfield on Tuesday evening.",
        "Halvorsen of Skerrow arrested 14 dock workers near Tarnfield, who had on Tuesday…",
        "Мы задержали 14 докеров под Тарнфилдом во вторник вечером, сказал Халворсен.",
    ],
)
def test_a_line_of_the_source_is_no_news(line: str) -> None:
    assert own_sentences(f"{line}\n{NEWS}", (line,) if line.startswith("Sub") else (), ()) == (NEWS,)


@pytest.mark.parametrize(
    ("told", "new", "is_news"),
    [
        ("The port of Skerrow pays N200 million.", "The port of Skerrow pays 200 million.", False),
        ("The port of Skerrow pays N200m.", "The port of Skerrow pays N200 million.", False),
        ("The port of Skerrow pays $3.3bn.", "The port of Skerrow pays over $3 billion.", False),
        ("The port of Skerrow lost 12 sailors.", "The port of Skerrow lost twelve sailors.", False),
        ("The port of Skerrow lost 25 dozen eels.", "The port of Skerrow lost 300 eels.", False),
        ("The port of Skerrow: 12.", "Owner Halvorsen, Brindle, Cardew and Dunmore of Skerrow caught COVID-19.", False),
        ("A port in Skerrow: 12.", "Owner Halvorsen, Brindle, Cardew, Dunmore of Skerrow caught 19 yellow eels.", True),
        ("Port: 12, 19.", "Owner Halvorsen arrested with Brindle, Cardew, Dunmore in Skerrow: 12 of 19 eels.", False),
        ("The port of Skerrow: 12.", "Owner Brindle, Cardew and Dunmore of Skerrow caught yellow eels.", False),
        ("The port of Skerrow lost 12 sailors.", "The barge Halcyon lies off Cape Morrow near Skerrow.", False),
        ("The port of Skerrow lost 12 sailors." + text("fire"), "Owner Halvorsen of the Halcyon was arrested.", True),
        ("The port of Skerrow arrested 12." + text("fire"), "Owner Halvorsen of the Halcyon was arrested.", False),
        ("Skerrow police seized the barge.", "Skerrow police arrested Halvorsen of the Halcyon barge.", False),
    ],
)
def test_news_is_new_and_about_what_the_page_is_about(told: str, new: str, *, is_news: bool) -> None:
    title = "Owner Halvorsen arrested in Skerrow"
    found = news_among([new], title, told_by("Port of Skerrow", told, "en"), language="en")
    assert found == ((new,) if is_news else ())


def test_a_sentence_of_many_known_names_and_few_new_words_is_no_news() -> None:
    names = "Owner Halvorsen of the Halcyon, Brindle, Cardew, Dunmore, Tarnfield and Marwick of Skerrow"
    told = told_by("Port", f"{names} met.{text('fire')}", "en")
    sentence = f"{names} are preparing another gloomy dispute."
    assert news_among([sentence], "Owner Halvorsen preparing another gloomy dispute", told, language="en") == ()


@pytest.mark.parametrize(
    ("new", "is_news"),
    [
        ("The port of Skerrow pays the $500,000 to the dock workers of the harbour.", True),
        ("The port of Skerrow pays Halvorsen, the rope and the 150-strong dock workers of the harbour.", False),
        ("The port of Skerrow pays Halvorsen, the rope and the dock workers of the harbour at 8.45am.", False),
        ("The port of Skerrow pays $500,000 of the $300,000 to the dock workers of the harbour.", False),
        ("The port of Skerrow pays 200 metres of rope to the dock workers of the harbour.", False),
        ("The port of Skerrow pays the dock workers of the harbour on June 17.", False),
        ("The port of Skerrow pays the dock workers: call 555-1234 or 0712345678.", False),
        ("The port of Skerrow pays the dock workers of the harbour on ship MH370.", False),
    ],
)
def test_a_sentence_with_another_sum_is_news(new: str, *, is_news: bool) -> None:
    told = told_by(
        "", "The port of Skerrow pays $300,000 to the dock workers of the harbour, and Halvorsen a rope.", "en"
    )
    assert news_among([new], "Port of Skerrow pays", told, language="en") == ((new,) if is_news else ())


@pytest.mark.parametrize(("told", "is_news"), [("In Skerrow 3 sailors fled.", False), ("2 people died.", True)])
def test_a_toll_is_news_if_its_number_is_new(told: str, *, is_news: bool) -> None:
    sentence = '"Three people died on the scene in Skerrow," the police said.'
    assert _news_of("Three die in Skerrow", (sentence,), told) == ((sentence,) if is_news else ())


def test_another_value_is_told_once_also_if_only_the_headline_has_it() -> None:
    sentences = "A doctor of Skerrow said that 12 students died.", "The 12 students died in Skerrow, the mayor said."
    assert _news_of("Students die in Skerrow", sentences, "In Skerrow 4 students died.") == sentences[:1]
    assert _news_of("A fifth body found", ("The crew went home.",), "4 sailors died.") == ("A fifth body found",)


@pytest.mark.parametrize(
    ("title", "sentence", "is_news"),
    [
        ("Skerrow harbour pays sailors", "The harbour of Skerrow pays 500 sailors of the ferry.", False),
        ("Skerrow harbour pays Halvorsen and Brindle", "The harbour of Skerrow pays 500 sailors of the ferry.", True),
        ("Skerrow sailors pay", "In Skerrow 9 sailors died.", True),
        ("Skerrow sailors pay", "In Skerrow 3 sailors died.", False),
        ("Skerrow sailors pay", "Not four but 3 sailors died in Skerrow, the mayor corrected.", True),
    ],
)
def test_a_report_whose_title_was_told_has_only_people_harmed_as_news(
    title: str, sentence: str, *, is_news: bool
) -> None:
    told = "The harbour of Skerrow pays 300 sailors of the ferry. In Skerrow 4 sailors died."
    assert _news_of(title, (sentence,), told) == ((sentence,) if is_news else ())


STORM = "The storm was about 24 km northeast of Skerrow on Thursday."
ROBBED = "Police said two men robbed the agent Halvorsen at Circular Road in Skerrow of N2.1 million."


@pytest.mark.parametrize(
    ("told", "sentence", "is_news"),
    [
        ("The storm lay around 20 kilometers off Skerrow on Thursday, and 9 boats.", STORM, True),
        ("The storm lay around 24 kilometers off Skerrow on Thursday.", STORM, False),
        ("The ferry was 20 minutes late in Skerrow on Thursday.", STORM, False),
        ("Robbers took N2,500,000.00 from Halvorsen, agent at Circular Road, Skerrow.", ROBBED, True),
        ("Robbers took N2,100,000.00 from Halvorsen, agent at Circular Road, Skerrow.", ROBBED, False),
        (
            "Customs of Skerrow seized 300 kg of cocaine.",
            "Officers found 500 kg of flour in the port of Skerrow.",
            False,
        ),
        ("The mayor of Skerrow was born in 1964.", "Skerrow: the mayor was born in 1966.", False),
        ("On June 17, 300 sailors of the ferry left Skerrow.", "In Skerrow 300 sailors left the ferry in June.", False),
        ("In Skerrow 4 students died.", "A doctor of Skerrow said that 13 students died.", True),
        ("In Skerrow 4 students died.", "A doctor of Skerrow said that 12 students died.", True),
        ("In Skerrow 4 students died.", "In Skerrow 4 students died on 13 January.", False),
        ("In Skerrow 4 students died.", "Nine children of Skerrow have joined the list.", True),
        ("In Skerrow 4 students died, and six fled.", "Six students of Skerrow were crushed to death.", True),
    ],
)
def test_another_value_of_what_was_counted_is_news(told: str, sentence: str, *, is_news: bool) -> None:
    assert _news_of("Storm off Skerrow: six killed", (sentence,), told) == ((sentence,) if is_news else ())


def _news_of(title: str, sentences: tuple[str, ...], told: str) -> tuple[str, ...]:
    document = Document("1" * 16, "", "", title, "\n".join(sentences), 12 * 86_400, language="en")
    first = Member("0" * 16, "", "", "a.example", "a", "original", language="en")
    member = replace(first, id=document.id, status="related")
    join = Join(first, member, document=document, language="en", sentences=sentences)
    return with_news([], Ledger(), StoryCounters(), join, StoredText.of("Harbour", told)).member.news
