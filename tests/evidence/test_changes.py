"""The lines that are told of two texts: values and labels in the words of the text, and nothing that was misread."""

import random
import re

import pytest

from scrapy_neardup.evidence.changes import changes_between
from scrapy_neardup.evidence.differences import compare
from scrapy_neardup.evidence.edits import Change
from scrapy_neardup.evidence.page_lines import Side

# A sentence with {old|new}, and the line that is told of it.
TOLD = [
    ("en", "Voters may use {2195|2445} polling units in the state.", "polling units: 2195 -> 2445"),
    ("en", "Everybody must leave the valley by {18:00|15:00} today.", "valley by: 18:00 -> 15:00"),
    ("en", "The ferry leaves the pier at 6:40 {p.m.|a.m.} and returns.", "pier at: 6:40 pm -> 6:40 am"),
    ("en", "Dairies recalled lot {B4471|B4417} of the cheese after tests.", "recalled lot: B4471 -> B4417"),
    ("en", "{Dozens|Hundreds} of farmers blocked the road for hours.", "farmers blocked: Dozens -> Hundreds"),
    ("en", "The museum paid {$840, 650|$910, 650} for the old map.", "museum paid: $840,650 -> $910,650"),
    ("en", "The fund gave {half a million|a million} dollars to the school.", "fund gave: $500000 -> $1000000"),
    ("en", "The state will spend 3 {lakh|crore} rupees on the new well.", "spend: 3 lakh rupees -> 3 crore rupees"),
    ("fr", "Le marché ouvre à {7 h 15|9 h 15} sur la place.", "marché ouvre à: 7h15 -> 9h15"),
    ("de", "Der Zug fährt um {22.30|20.30} Uhr vom alten Bahnhof ab.", "Zug fährt um: 22.30 -> 20.30"),
    ("id", "Kapal itu berangkat pukul {16.30|18.30} dari dermaga lama.", "berangkat pukul: 16.30 -> 18.30"),
    ("hi", "राज्य नए कुएँ पर पांच {लाख|करोड़} रुपये खर्च करेगा।", "कुएँ: Rs 500000 -> Rs 50000000"),
    (
        "ta",
        "நகரில் உள்ள பெரிய ஆற்றில் தேடுதல் {புதன்கிழமை (27)|இன்று (28)} காலை முதல் நடைபெற்று வருகின்றது.",
        "காலை முதல்: புதன்கிழமை 27 -> 28",
    ),
    (
        "si",
        "නිලධාරීන් රුපියල් {25,000ක|විසි දහසක} වැටුප් වැඩිවීමක් ඉල්ලා {ඊයේ (20)|ඊයේ} සිට වැඩ නතර කළහ.",
        "වැටුප් වැඩිවීමක්: 25000 -> 20000",
    ),
    ("zh", "新的图书馆将于{二|八}月开放，市民可以免费参观。", "图书馆将于: 2月 -> 8月"),
    ("ko", "축제에는 관람객 {3만|4만} 5천 명이 다녀갔다.", "people: 35000 -> 45000"),
    ("en", "By {sections 35, 37, 160, 173, and 174|sections 35, 160, 273, & 174} now.", "sections: 173 -> 273"),
    ("en", "By Part I {Sections|Section} 7, 9 and 11, II {Sections 21, 22|Section 21, 27}.", "Section: 22 -> 27"),
    ("en", "Experts say over {136|120} pupils sat in the hall.", "pupils sat: over 136 -> over 120"),
    ("en", "The dam may hold {about 150mm|above 100 mm} of rain.", "hold: about 150 mm -> above 100 mm"),
    ("en", "Seen on Sunday {15th June 2021|June14}.", "Seen on: Sunday 15 June 2021 -> Sunday June 14"),
    ("en", "The storm in numbers:\n4 dead, {30|50} hurt, 5 missing", "injured: 30 -> 50"),
    ("en", "Police said {5|9} people were arrested{| there}.{| Police said 25 people sat.}", "arrested: 5 -> 9"),
    # A label is of the clause of its value.
    ("en", "$42bn for a catch, {$29.1bn|$21.9bn} for harm and $1bn costs.", "harm: $29.1bn -> $21.9bn"),
    ("ar", "وتكون الرياح شرقية بسرعة {15 - 35|10 - 30} كم ، والموج متر.", "شرقية بسرعة: 15-35 كم -> 10-30 كم"),
    ("en", "The fire reached flat {12A|12B} at night.", "reached flat: 12A -> 12B"),
    ("en", "The fine of {$2.3B|$2.4B} was paid.", "fine: $2.3B -> $2.4B"),
    ("en", "The firm lost {1.2bn|1.4bn}. Nobody was hurt.", "firm lost: 1200000000 -> 1400000000"),
    ("en", "Winds of about {50-60|40-50} kmph blow at the coast.", "Winds: about 50-60 kmph -> about 40-50 kmph"),
    ("en", "We will invest over Rs {4,000|7,000} crores here.", "invest: over Rs 4,000 crores -> over Rs 7,000 crores"),
    ("en", "The {body of one|bodies of four} of the missing children was found in the river.", "dead: 1 -> 4"),
    ("ro", "Cei {52|152} de lilieci au fost duși la marginea orașului de oameni.", "lilieci: 52 -> 152"),
    ("en", "Nobody in area {55|84} is keeping people from leaving the camp of the city.", "area: 55 -> 84"),
    ("en", "7 percent were aged 26 or above, {65|48} percent were women.", "women: 65 percent -> 48 percent"),
    ("ja", "新しい橋は11月{27日|20日}に開通する予定です。", "新しい橋は: 11月 27日 -> 11月 20日"),
    ("en", "The ferry of the town will {not |}sail to the island in winter.", "not sail -> sail"),
    ("de", "Die Brücke der Stadt öffnet am Montag{| nicht}.", "Montag -> Montag nicht"),
    ("fr", "La baisse des prix a été {des deux|d'un} tiers, selon la mairie.", "prix: des deux -> d un"),
    ("hi", "गाँव में पिछले एक {सप्ताह|महीने} से पानी नहीं है।", "में पिछले: सप्ताह -> महीने"),
    ("tr", "Köy halkı ürünün {yarısını|tamamını} selde kaybetti.", "selde kaybetti: yarısını -> tamamını"),
    ("de", "Der Rat tagt am {Montagabend|Freitagabend} im alten Saal.", "Rat tagt: Montagabend -> Freitagabend"),
    ("vi", "Cây cầu mới ở huyện chỉ mở vào ban {đêm|ngày} trong tuần này.", "vào ban: đêm -> ngày"),
    ("sw", "Nyavu zenye matundu {haziruhusiwi|zinaruhusiwa} katika ziwa.", "haziruhusiwi -> zinaruhusiwa"),
    ("ja", "新しい橋は{市長|副市長}の手で開かれた。", "市長 -> 副市長"),
    ("id", "Di desa itu {tidak ada|banyak} rumah yang rusak oleh banjir.", "tidak ada -> banyak"),
    ("en", "The fund gave {50,000|50 million} crowns to the school.", "crowns: 50000 -> 50000000"),
    ("en", "The town will pay 40 million {yen|yuan} for the mill.", "pay: ¥ -> 元"),
    ("th", "สภาเมือง{อนุมัติ|ปฏิเสธ}แผนสร้างสะพานเก่า", "เมือง: อนุมัติ -> ปฏิเสธ"),
    ("en", "The museum in Skerrow {sacked|hired} a guard, and 3 pupils saw it.", "Skerrow: sacked -> hired"),
    ("en", "The high court has {upheld|quashed} the fine for the ferry.", "high court: upheld -> quashed"),
    ("de", "Der {Umweltminister|Finanzminister} will das Haus.", "Haus: Umweltminister -> Finanzminister"),
    ("nl", "Er moeten {minstens|hooguit} banken bij het station komen.", "moeten: minstens -> hooguit"),
    ("zh", "船只事故后有三名工人{受伤|死亡}。", "名工人: 受伤 -> 死亡"),
    ("zh", "广场上聚集了{数十|数百}名学生，交通一度中断。", "名学生: 数十 -> 数百"),
    (
        "th",
        "เพื่อซ่อมเสาที่ผุพังจากน้ำท่วมเมื่อปีก่อน สภาเมืองท่าเรือมีมติเมื่อวันอังคารให้ปิดสะพานไม้เก่าเป็นเวลานาน ราคาข้าวในตลาด{ลดลง|เพิ่มขึ้น}มาก",
        "นตลาด: ลดลง -> เพิ่มขึ้น",
    ),
    ("he", "הגשר הישן בנמל {ונפתח|ונסגר} ביום שני, אמר ראש העיר.", "הישן בנמל: ונפתח -> ונסגר"),
    ("en", "The doctor said that patients with the {H5N1|H5N8} virus are treated.", "patients with: H5N1 -> H5N8"),
    ("en", "Flames were seen in the {north|south} tower of the church.", "tower: north -> south"),
    ("ko", "새 다리는 내년 {9월|3월} 1일부터 시민에게 열린다.", "다리는 내년: 9월 1일 -> 3월 1일"),
]
NOT_TOLD = [
    ("ar", "أحصى المراقبون {ما لا يقل عن 17 خرقا|17 خرقا على الأقل} في المدينة القديمة."),
    ("en", "The council {did not accept|rejected} the plan for the old mill."),
    ("en", "The old {general|junior} came to Skerrow early on the day with his wife."),
    ("en", "The people praised the {fellow|roses} of the old town on the hill."),
    ("en", "He said that {most of the|the majority of} young people spend their time chatting in Skerrow."),
    ("en", "{At least 315|More than 300} people have been killed in the unrest since early October."),
    ("en", "The letter of the army was {not only sad|both sad} and unfortunate for the people of Skerrow."),
    ("en", "The museum paid {$840, 650|$840,650} for the old map."),
    ("en", "The fund gave {half a million|500,000} dollars to the school."),
    ("en", "The state will spend {3 lakh|300,000} rupees on the new well."),
    ("en", "The new line will cost {$20 million|20 million dollars} and open in spring."),
    ("en", "Prices rose by {1,13|13,1} points at the exchange."),
    ("en", "{Two thirds|Half} of the shops stay open late in winter."),
    ("en", "The company proposes a deduction of {N114.3bn|$280m} for the month of June."),
    ("es", "La feria recibió {dos mil 300|2 300} visitas el domingo."),
    ("fr", "La foire a accueilli {2 300|2.300} visiteurs dimanche."),
    ("ja", "祭りには{3万5千|35000}人が訪れたと市が発表した。"),
    ("ko", "축제에는 관람객 {3만 5천|35,000}명이 다녀갔다."),
    ("hi", "राज्य नए कुएँ पर {पांच|5} लाख रुपये खर्च करेगा।"),
    ("en", "{4|Two more} people have died."),
    ("en", "124-150 days {5.92|5.93} pct 5.92 pct {174-182|124-150} days"),
    ("en", "{|Of all loans 1.5 percent went to towns.\n}Of all loans 4.6 percent went to farms {in|of} towns."),
    ("en", "A motor park in Iddo was searched after a tip-off on Thursday{, June 10| 10th June, 2021}."),
    ("en", "The House wants {the 136|over 130} pupils of the school to be freed."),
    ("en", "The board says that {1,122,095|1,122, 095} pupils and {1, 300,722|1,300,722} guests came."),
    ("en", "Skerrow, May {30|31} (Shipnews) - The captain of the ferry was brought to court by the police."),
    ("ar", "وفاة {وإصابة 7|4 وإصابة 3} في حادث اصطدام سيارة بناقة سائبة في جازان."),
    ("en", "The fire burned a field of 100 by {300|3.00} metres."),
    ("en", "Sales of houses are at their best in 8 years{ and a half|.5 years}."),
    ("en", "The council has approved a budget of {N895.5bn|N895bn} for roads."),
    ("en", "The office gave its help to {more than 1,343|over 1,300} visitors of the fair in one week."),
    ("en", "The captain of the ferry served {4 1/2|4.5} months in the prison of Skerrow."),
    ("en", "The rescue team of the harbour {was|were} at the old pier by noon."),
    ("en", "The hall opens at {6: 00 p.m.|6 p.m.} today for all guests of the fair."),
    ("en", "The case of the old ferry was taken up before the court of the town today {(20)|(03)} again."),
    ("en", "The court of the harbour gave its ruling at a hearing on {15 July 2015|15-07-2015} in public."),
]
# The source of the old text, both texts, and what the new one tells. Another source may count a part.
NEWER_TOLLS = [
    ("a.example", "A fire injured 12 people.", "Nineteen people are injured now.", "injured: 12 -> 19"),
    ("b.example", "A fire injured 12 people.", "Nineteen people are injured now.", ""),
    ("a.example", "A fever spread in the town.", "The fever has claimed a first life.", "dead: 0 -> 1"),
    ("a.example", "In all 77 people are ill.", "Correction: 67 cases of measles, not 77.", "cases: 77 -> 67"),
    ("a.example", "The flood destroyed 40 houses.", "By noon 55 homes were lost to the water.", "homes: 40 -> 55"),
    ("a.example", "Four people died in the mill.", "Two more people lost their lives.", "dead: 4 -> 6"),
    ("b.example", "Four people died in the mill.", "Two more people lost their lives.", ""),
    ("a.example", "Nobody died in the fire.", "Later three bodies were found there.", "dead: 0 -> 3"),
    ("a.example", "Two more people died. That makes six dead.", "Two more victims have died, he said.", ""),
]


WORDS = [f"{a}{b}{c}" for a in "bdfgk" for b in "aeiou" for c in ("rnd", "lst", "mpt")]


def told(language: str, text: str) -> list[str]:
    texts = (re.sub(r"{([^|]*)\|([^}]*)}", value, text) for value in (r"\1", r"\2"))
    old, new = (Side("", each, "", language) for each in texts)
    return [each.line for each in changes_between(new, old, compare(new, old))]


@pytest.mark.parametrize(("language", "text", "line"), TOLD)
def test_a_changed_value_is_told_in_the_words_of_the_text(language: str, text: str, line: str) -> None:
    assert told(language, text) == [line]


@pytest.mark.parametrize(("language", "text"), NOT_TOLD)
def test_one_value_in_two_forms_is_not_told(language: str, text: str) -> None:
    assert told(language, text) == []


def test_a_number_below_zero_is_a_figure() -> None:
    old, new = (Side("", f"It fell to {value} degrees in the night at Skerrow.", "", "en") for value in ("-4", "4"))
    assert changes_between(new, old, compare(new, old)) == (Change("minus 4 -> 4", is_figure=True),)


def test_a_title_is_compared_with_the_title() -> None:
    text = "In the centre of Skerrow 63 pupils pass the course of this spring, and they get their papers on Monday."
    old = Side("95 pupils pass the course", text, "", "en")
    new = Side("Centre of Skerrow: 63 pupils pass the course", text, "", "en")
    assert [each.line for each in changes_between(new, old, compare(new, old))] == ["pupils pass: 95 -> 63"]


def test_a_lower_toll_in_other_words_may_be_a_part_of_it() -> None:
    old = Side("Nine dead in storm", "The storm has killed nine people on the island since Friday, the office said.")
    new = Side("Storm claims seven lives in a day", "The centre has counted seven fatalities in 24 hours.")
    assert changes_between(new, old, compare(new, old)) == ()


def test_texts_with_little_in_common_count_other_things() -> None:
    old, new = (
        Side("", f"{sentence}\n{' '.join(random.Random(len(sentence)).sample(WORDS, 40))}.", "", "en")
        for sentence in (
            "Lay teachers voted 97 per cent in favour of a strike if need be, although talks of the others go on.",
            "High school teachers voted 95.5 per cent in favour of a strike on Monday, their union told the press.",
        )
    )
    assert changes_between(new, old, compare(new, old)) == ()


def test_a_value_that_title_and_text_repeat_is_told_once() -> None:
    old, new = (
        Side(f"{value} dead in fire", f"{value} people were killed in a fire in the old mill.", "", "en")
        for value in ("Four", "Nine")
    )
    assert [each.line for each in changes_between(new, old, compare(new, old))] == ["dead: 4 -> 9"]


@pytest.mark.parametrize(("source", "before", "after", "line"), NEWER_TOLLS)
def test_a_source_tells_its_newer_toll_in_other_words(source: str, before: str, after: str, line: str) -> None:
    old, new = Side("", before, source, "en"), Side("", after, "a.example", "en")
    assert "".join(each.line for each in changes_between(new, old, compare(new, old))) == line


def test_the_time_of_a_page_is_not_told() -> None:
    body = "The captain of the ferry was brought to court. The ferry lies in the harbour. Its owner said nothing."
    old, new = (Side("", f"{body}\n18 January 2007 {time} AEST", "", "en") for time in ("12:50", "09:12"))
    assert changes_between(new, old, compare(new, old)) == ()


def test_the_sum_of_two_events_is_no_higher_toll() -> None:
    old = Side("Gunmen kill 14 in Skerrow", "Fourteen people were killed by gunmen in Skerrow on Sunday.", "", "en")
    body = "Fourteen people were killed by gunmen in Skerrow on Sunday. Others killed 15 people in Barra."
    new = Side("29 killed in Skerrow and Barra", body, "", "en")
    assert changes_between(new, old, compare(new, old)) == ()


def test_the_toll_of_another_town_is_no_higher_toll() -> None:
    text = "Raiders killed {} people at night in {}. The bishop of the old abbey spoke of a black week for all of us."
    old = Side("Raiders kill six people in Tarnfield", text.format("six", "Tarnfield"))
    new = Side("20 people dead in Skerrow after a raid", text.format("20", "Skerrow"))
    assert [each.line for each in changes_between(new, old, compare(new, old)) if each.is_toll] == []
