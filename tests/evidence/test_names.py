"""Names in one alphabet: by them a report joins a story in another language."""

import numpy as np
import pytest
from texts import opened

from scrapy_neardup.evidence.names import (
    LEAST_COSINE,
    find_names,
    names_score,
    pack_names,
    rarest_names,
    shared_names,
    shared_tolls,
    skeleton,
)
from scrapy_neardup.evidence.topic import TopicWeights, shared_terms, topic_cosine

START = 1_700_000_000
ENGLISH = (
    "The ferry Morning Star ran aground near Skerrow on the way to Oldaran, says Harbourmaster Magnus Aird. Lifeboats"
    " of Barravik brought all passengers to Kelmund, where Northlink had opened a school for them during the night."
)
RUSSIAN = (
    "Вечером паром сел на мель возле Скерроу по пути в Олдаран, сообщил начальник порта Магнус Эйрд. Спасатели из "
    "Барравика доставили всех пассажиров в Келмунд, где компания Нортлинк открыла для них на ночь школу."
)
GERMAN = (
    "Der Sturm trieb am Abend eine Fähre mit Urlaubern auf die Sandbank vor Skerrow, der Kapitän löste Alarm aus. Der"
    " Chef des Hafens, Magnus Aird, sprach von einem Schaden am Ruder. Helfer aus Barravik brachten alle Passagiere in"
    " die Schule von Kelmund, in der die Firma Northlink Betten, Decken und Suppe bereithielt."
)
ELSEWHERE = (
    "Утром пожар уничтожил склад возле Ренфолда по дороге в Тимгард, сообщил начальник станции Йонас Пелл. Пожарные из "
    "Вистлока доставили всех рабочих в Гренмунд, где компания Соутпорт открыла для них на ночь гостиницу."
)


@pytest.mark.parametrize(
    "names",
    (
        "Путин Путина Путиным Putin Poutine|Mirepoix Мирпуа|Харьков Kharkiv Kharkov|Μητσοτάκης Mitsotakis Мицотакис|"
        "Erdoğan Erdogan Эрдоган|Ampara அம்பாரை අම්පාර|Afghanistan ඇෆ්ගනිස්තාන अफ़ग़ानिस्तान আফগানিস্তান|Gujarat ગુજરાત गुजरात|"
        "Kolkata কলকাতা कोलकाता കൊൽക്കത്ത|Hyderabad హైదరాబాద్|Karnataka ಕರ್ನಾಟಕ कर्नाटक"
    ).split("|"),
)
def test_one_name_in_several_languages_has_one_skeleton(names: str) -> None:
    found = {skeleton(name) for name in names.split()}
    assert len(found) == 1
    assert len(found.pop()) >= 3


@pytest.mark.parametrize("name", ["Xi", "Kane", "Сирия", "Ñ", "中国", "حيفا"])
def test_a_name_of_which_too_little_is_left_has_none(name: str) -> None:
    assert skeleton(name) == ""


def test_words_that_begin_a_sentence_are_no_names_except_in_a_title() -> None:
    line = "Later Magnus went. Tomorrow the «Northlink» opens in Oldaran"
    assert find_names([line]) == [skeleton(name) for name in ("Magnus", "Northlink", "Oldaran")]
    assert find_names(["Later Magnus Went"], is_title=True) == [skeleton(name) for name in ("Later", "Magnus", "Went")]


def test_the_rarest_names_are_kept_and_common_ones_are_not() -> None:
    weights = TopicWeights(8)
    weights.frequencies.learn_slots(np.arange(3, dtype=np.uint32), documents=100)
    common, rare = pack_names(["ptn"]), pack_names(["skr"])
    for _ in range(9):
        rarest_names(common, weights)
    assert rarest_names(common + rare, weights)[0] == rare


def test_the_first_reports_of_an_event_keep_the_names_that_they_share() -> None:
    weights = TopicWeights(8)
    event = pack_names(map(skeleton, "Skerrow Oldaran Barravik Tondheim".split()))
    reports = [rarest_names(event + pack_names([f"own{number}"]), weights)[0] for number in range(8)]
    assert all(len(shared_terms(reports[0], each)) == 4 for each in reports[1:])


def test_three_names_in_common_are_needed_and_count_less_than_four() -> None:
    names = [skeleton(name) for name in "Skerrow Oldaran Magnus Barravik Tondheim".split()]
    packed, two, three, four = (pack_names(names[:number]) for number in (5, 2, 3, 4))
    assert names_score(packed, two) == 0.0
    assert LEAST_COSINE < names_score(packed, three) < topic_cosine(packed, three)
    assert names_score(packed, four) == topic_cosine(packed, four)


def test_figures_are_names_in_every_script() -> None:
    figures = ["1200000", "6.1", "F35", "X019"]
    assert find_names(["they sold 1.200.000 of them, 6,1 a day, to 7 with F35 or X019"]) == figures
    assert find_names(["1,200,000 人 6.1 ٪ F35 3-4 X019"]) == figures
    assert find_names(["401,707ක් 17ஆக 120,000ற்கும் 25kg 12лет"]) == ["401707", "17", "120000"]


def test_a_tamil_name_is_read_with_hard_and_with_soft_letters() -> None:
    assert skeleton("Colombo") in find_names(["கொழும்பு"])
    assert skeleton("Puttalam") in find_names(["புத்தளம்"])


def test_shared_names_are_words_of_the_document() -> None:
    names = pack_names(find_names([ENGLISH])), pack_names(find_names([RUSSIAN]))
    assert "Олдаран" in shared_names(*names, "", RUSSIAN)
    assert "Oldaran" in shared_names(*names, "", ENGLISH)


TAMIL = (
    "ஸ்கெர்ரோ அருகே ஓல்தாரன் நோக்கிச் சென்ற படகு தரைதட்டியதாக துறைமுக அதிகாரி மக்னஸ் தெரிவித்தார். "
    "பர்ராவிக் மீட்புப் படகுகள் அனைத்து பயணிகளையும் கெல்முண்ட் நகருக்கு அழைத்துச் சென்றன. அங்கு நார்த்லிங்க் "
    "நிறுவனம் இரவு முழுவதும் அவர்களுக்காக ஒரு பாடசாலையைத் திறந்திருந்தது."
)
TAMIL_ELSEWHERE = (
    "ரென்போல்ட் அருகே திம்கார்ட் செல்லும் வீதியில் இருந்த களஞ்சியம் தீயில் எரிந்ததாக நிலைய அதிகாரி யோனாஸ் தெரிவித்தார். "
    "விஸ்ட்லாக் தீயணைப்பு வீரர்கள் அனைத்து தொழிலாளர்களையும் கிரென்முண்ட் நகருக்கு அழைத்துச் சென்றனர். அங்கு "
    "சவுத்போர்ட் நிறுவனம் ஒரு விடுதியைத் திறந்திருந்தது."
)


MINE = (
    "In einem Bergwerk von Cajabamba starben 12 Arbeiter. Helfer aus Lima suchten die Nacht hindurch nach Verschütteten"
    " unter dem Geröll, sagte Minister Carlos Rey, und der Regen hatte den Boden seit Tagen aufgeweicht."
)


@pytest.mark.parametrize(
    ("text", "language", "joins"),
    [(MINE, "de", False), (RUSSIAN, "ru", True), (RUSSIAN, "", True), (ELSEWHERE, "ru", False),
     (GERMAN, "de", True), (TAMIL, "ta", True), (TAMIL_ELSEWHERE, "ta", False)],
)  # fmt: skip
async def test_a_report_joins_a_story_in_another_language_by_its_names(text: str, language: str, joins: bool) -> None:
    async with opened("news", "memory://", "x") as detector:
        told = f"A ferry sank and 12 people died. {ENGLISH}" if text == MINE else ENGLISH
        wire = detector.document(told, url="https://one.example/", language="en", seen_at=START)
        report = detector.document(text, url="https://two.example/", language=language, seen_at=START + 1)
        first, second = await detector.check(wire), await detector.check(report)
    assert first.status == "original"
    assert second.status == ("related" if joins else "original")
    assert second.story == (first.story or wire.id if joins else second.story)


async def test_names_can_be_switched_off() -> None:
    async with opened("news", "memory://", "x", NEARDUP_PRESET_OPTIONS={"names": False}) as detector:
        wire = detector.document(ENGLISH, url="https://one.example/", language="en", seen_at=START)
        report = detector.document(RUSSIAN, url="https://two.example/", language="ru", seen_at=START + 1)
        assert [(await detector.check(each)).status for each in (wire, report)] == ["original", "original"]
        assert detector.sketcher.fingerprint(wire).name_keys == ()


COLOURLESS_TAMIL = "புயலினால் 12 பேர் உயிரிழந்துள்ளனர். 17 பேர் காயமடைந்துள்ளனர். பாடசாலைகள் மூடப்பட்டுள்ளன, மின்சாரம் இல்லை."


@pytest.mark.parametrize(("tolls", "joins"), [("12 17", True), ("7 13", True), ("11 14", False)])
async def test_a_report_joins_a_story_in_another_language_by_its_tolls(tolls: str, joins: bool) -> None:
    dead, hurt = tolls.split()
    text = f"The storm killed {dead} people, and {hurt} people were injured. " + ENGLISH
    async with opened("news", "memory://", "x") as detector:
        told = COLOURLESS_TAMIL if not joins else COLOURLESS_TAMIL.replace("12", dead).replace("17", hurt)
        tamil = detector.document(told * 2, url="https://one.example/", language="ta", seen_at=START)
        report = detector.document(text, url="https://two.example/", language="en", seen_at=START + 1)
        await detector.check(tamil)
        assert ((await detector.check(report)).status == "related") is joins


@pytest.mark.parametrize(
    ("new", "old", "shared"),
    [
        ({1: 12, 2: 17}, {1: 12, 2: 17}, (2, True, False)),
        ({1: 12}, {1: 4, 2: 12}, (0, False, True)),
        ({1: 2, 2: 3}, {1: 2, 2: 3}, (2, True, False)),
        ({1: 3}, {1: 3}, (0, False, False)),
        ({1: 4}, {1: 12}, (0, False, False)),
        ({1: 40}, {1: 12}, (0, False, False)),
        ({1: 1}, {1: 1}, (0, False, False)),
        ({1: 150_000}, {1: 150_000}, (1, True, False)),
        ({1: 150_000}, {1: 100_000}, (0, False, True)),
    ],
)
def test_tolls_of_one_event_are_equal_or_rise(
    new: dict[int, int], old: dict[int, int], shared: tuple[int, bool, bool]
) -> None:
    weights = TopicWeights(8)
    names = [rarest_names(pack_names(["skr"]), weights, tolls=tolls.items())[0] for tolls in (new, old)]
    equal, bits, is_risen = shared_tolls(*names)
    assert (equal, bits > 2, is_risen) == shared
