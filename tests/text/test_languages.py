"""Real text of twelve scripts: an edited copy is found, another story in the same script is not taken for one."""

from __future__ import annotations

import html
import unicodedata

import pytest

from scrapy_neardup.content import read_head
from scrapy_neardup.content.extractors import extract_with_trafilatura
from scrapy_neardup.detector import NearDupDetector
from scrapy_neardup.document import Verdict
from scrapy_neardup.sketch import PRESETS, Sketcher

# For each script two stories of three paragraphs: a ferry that takes up its service, and a library that is rebuilt.
STORIES: dict[str, tuple[tuple[str, str, str], tuple[str, str, str]]] = {
    "Latin": (
        (
            "La traversée du fleuve reprendra dès lundi matin, a annoncé la mairie après de longs travaux sur le quai.",
            "Les habitants de la rive gauche avaient dû faire un détour par le vieux pont pendant tout l'été dernier.",
            "Le capitaine espère que les élèves du lycée retrouveront vite l'habitude de venir à l'école en bateau.",
        ),
        (
            "La bibliothèque du centre rouvre ses portes avec une salle de lecture éclairée par une grande verrière.",
            "L'architecte a gardé les boiseries anciennes et caché derrière elles les câbles et la ventilation neuve.",
            "Une collection de journaux régionaux, longtemps gardée en réserve, pourra être consultée par chacun.",
        ),
    ),
    "Cyrillic": (
        (
            "Паромная переправа через реку снова откроется в понедельник утром, сообщили в городской администрации.",
            "Жителям левого берега всё лето приходилось ездить в объезд через старый мост у железнодорожной станции.",
            "Капитан надеется, что школьники быстро вернутся к привычке добираться на занятия по воде, а не автобусом.",
        ),
        (
            "Городская библиотека открылась после ремонта, в ней появился светлый читальный зал под стеклянной крышей.",
            "Архитектор сохранил старинные деревянные панели и спрятал за ними новую вентиляцию и всю проводку здания.",
            "Собрание местных газет, которое долго лежало в запасниках, теперь может посмотреть любой посетитель.",
        ),
    ),
    "Greek": (
        (
            "Το πορθμείο του ποταμού ξεκινά πάλι τα δρομολόγιά του τη Δευτέρα το πρωί, όπως ανακοίνωσε ο δήμος.",
            "Οι κάτοικοι της αριστερής όχθης έκαναν όλο το καλοκαίρι τον γύρο από την παλιά γέφυρα του σταθμού.",
            "Ο καπετάνιος ελπίζει ότι οι μαθητές θα συνηθίσουν γρήγορα ξανά να πηγαίνουν στο σχολείο με το καράβι.",
        ),
        (
            "Η δημοτική βιβλιοθήκη άνοιξε ξανά τις πόρτες της με ένα φωτεινό αναγνωστήριο κάτω από γυάλινη στέγη.",
            "Ο αρχιτέκτονας κράτησε τις παλιές ξύλινες επενδύσεις και έκρυψε πίσω τους τα καινούργια καλώδια.",
            "Η συλλογή των τοπικών εφημερίδων, που έμενε χρόνια στις αποθήκες, είναι πλέον ανοιχτή για όλους.",
        ),
    ),
    "Arabic": (
        (
            "تستأنف العبارة رحلاتها عبر النهر صباح يوم الاثنين بعد أعمال طويلة على الرصيف كما أعلنت بلدية المدينة.",
            "اضطر سكان الضفة اليسرى طوال الصيف الماضي إلى سلوك طريق طويل عبر الجسر القديم قرب محطة القطار.",
            "يأمل القبطان أن يعود تلاميذ المدرسة الثانوية سريعا إلى عادة الذهاب إلى دروسهم بالقارب كل صباح.",
        ),
        (
            "فتحت مكتبة المدينة أبوابها من جديد بعد ترميمها وفيها قاعة قراءة مضيئة تحت سقف واسع من الزجاج.",
            "حافظ المهندس المعماري على الألواح الخشبية القديمة وأخفى خلفها أسلاك الكهرباء وقنوات التهوية الجديدة.",
            "أصبحت مجموعة الصحف المحلية التي بقيت سنوات في المخازن متاحة لكل زائر يريد أن يطلع عليها.",
        ),
    ),
    "Hebrew": (
        (
            "המעבורת על הנהר תחזור לפעול ביום שני בבוקר לאחר עבודות ארוכות על הרציף, כך הודיעה עיריית העיר.",
            "תושבי הגדה השמאלית נאלצו במשך כל הקיץ האחרון לנסוע בדרך ארוכה דרך הגשר הישן שליד תחנת הרכבת.",
            "הקברניט מקווה שתלמידי בית הספר התיכון יחזרו מהר להרגל להגיע לשיעורים בסירה ולא באוטובוס הצפוף.",
        ),
        (
            "הספרייה העירונית נפתחה מחדש לאחר השיפוץ, ובה אולם קריאה מואר מתחת לתקרה גדולה עשויה זכוכית.",
            "האדריכל שמר על לוחות העץ הישנים והסתיר מאחוריהם את הכבלים ואת תעלות האוורור החדשות של הבניין.",
            "אוסף העיתונים המקומיים, שהיה שמור שנים רבות במחסן, פתוח מעתה לכל מבקר שרוצה לעיין בו בשקט.",
        ),
    ),
    "Devanagari": (
        (
            "नगर प्रशासन ने बताया कि घाट की लंबी मरम्मत के बाद नदी पार करने वाली नौका सेवा सोमवार सुबह फिर शुरू होगी।",
            "बाएँ किनारे के निवासियों को पूरी गर्मी रेलवे स्टेशन के पास वाले पुराने पुल से होकर लंबा रास्ता लेना पड़ा था।",
            "कप्तान को आशा है कि विद्यालय के छात्र जल्दी ही नाव से पढ़ने आने की अपनी पुरानी आदत फिर अपना लेंगे।",
        ),
        (
            "मरम्मत के बाद शहर का पुस्तकालय फिर खुल गया है और उसमें काँच की छत के नीचे एक उजला वाचनालय बनाया गया है।",
            "वास्तुकार ने पुराने लकड़ी के तख्तों को बचाए रखा और उनके पीछे नए तार और हवा के रास्ते छिपा दिए हैं।",
            "स्थानीय समाचार पत्रों का संग्रह जो वर्षों तक भंडार में पड़ा था अब हर आने वाले के लिए खुला रहेगा।",
        ),
    ),
    "Tamil": (
        (
            "படித்துறையில் நீண்ட பணிகள் முடிந்த பிறகு ஆற்றைக் கடக்கும் படகு சேவை திங்கட்கிழமை காலை மீண்டும் தொடங்கும்.",
            "இடது கரை மக்கள் கோடை முழுவதும் தொடர்வண்டி நிலையம் அருகே உள்ள பழைய பாலம் வழியாகச் சுற்றிச் செல்ல வேண்டியிருந்தது.",
            "பள்ளி மாணவர்கள் படகில் வகுப்புக்கு வரும் பழக்கத்தை விரைவில் மீண்டும் பெறுவார்கள் என்று படகோட்டி நம்பிக்கை தெரிவித்தார்.",
        ),
        (
            "புதுப்பிக்கப்பட்ட நகர நூலகம் கண்ணாடிக் கூரையின் கீழ் வெளிச்சமான வாசிப்பு அறையுடன் மீண்டும் திறக்கப்பட்டது.",
            "கட்டிடக் கலைஞர் பழைய மரப் பலகைகளை அப்படியே வைத்து அவற்றின் பின்னால் புதிய கம்பிகளையும் காற்று வழிகளையும் மறைத்தார்.",
            "பல ஆண்டுகளாகக் கிடங்கில் இருந்த உள்ளூர் செய்தித்தாள்களின் தொகுப்பை இனி வருகை தரும் அனைவரும் பார்க்கலாம்.",
        ),
    ),
    "Georgian": (
        (
            "მდინარეზე ბორანი ორშაბათს დილით კვლავ დაიწყებს მოძრაობას ნაპირზე ხანგრძლივი სამუშაოების შემდეგ.",
            "მარცხენა ნაპირის მცხოვრებლები მთელი ზაფხული იძულებულნი იყვნენ ძველი ხიდით შემოევლოთ რკინიგზის სადგურთან.",
            "კაპიტანი იმედოვნებს, რომ სკოლის მოსწავლეები სწრაფად დაუბრუნდებიან ნავით გაკვეთილებზე სიარულის ჩვევას.",
        ),
        (
            "ქალაქის ბიბლიოთეკა რემონტის შემდეგ კვლავ გაიხსნა და შუშის სახურავის ქვეშ ნათელი სამკითხველო დარბაზი აქვს.",
            "არქიტექტორმა ძველი ხის პანელები შეინარჩუნა და მათ უკან დამალა ახალი კაბელები და ვენტილაციის არხები.",
            "ადგილობრივი გაზეთების კოლექცია, რომელიც წლების განმავლობაში საცავში იდო, ახლა ყველას შეუძლია ნახოს.",
        ),
    ),
    "Hangul": (
        (
            "강을 건너는 나룻배가 선착장의 오랜 공사를 마치고 월요일 아침부터 다시 다닌다고 시청이 어제 오후에 밝혔다.",
            "왼쪽 강변에 사는 주민들은 지난여름 내내 기차역 옆에 있는 오래된 다리로 먼 길을 돌아서 다녀야 했다.",
            "선장은 고등학교 학생들이 배를 타고 수업에 오는 습관을 하루빨리 되찾기를 바란다고 웃으며 기자에게 말했다.",
        ),
        (
            "새로 고친 시립 도서관이 유리 지붕 아래 밝은 열람실을 갖추고 이번 주에 다시 문을 열었다고 한다.",
            "건축가는 오래된 나무 벽을 그대로 남기고 그 뒤에 새 전선과 환기 통로를 모두 보이지 않게 감추었다.",
            "여러 해 동안 창고에 있던 지역 신문 모음을 이제는 도서관에 오는 사람이면 누구나 펼쳐 볼 수 있다.",
        ),
    ),
    "Han": (
        (
            "市政府宣布，码头经过长时间的施工之后，横渡大河的渡轮将于星期一早晨恢复通航，票价暂时保持不变。",
            "整个夏天，左岸的居民都不得不绕道火车站旁边的旧桥过河，上班的路程因此比平时多出将近一倍。",
            "船长希望中学的学生们能够很快重新养成乘船上学的习惯，而不再挤那条总是晚点的公共汽车线路。",
        ),
        (
            "经过整修的城市图书馆重新向读者开放，宽敞明亮的阅览室上方是一片巨大的玻璃屋顶，白天无须开灯。",
            "建筑师保留了古老的木质墙板，把新的电线和通风管道全部隐藏在墙板后面，来访者几乎看不出改动。",
            "多年来一直存放在库房里的地方报纸合订本，从今以后每一位来馆的读者都可以申请查阅和抄录。",
        ),
    ),
    "Kana": (
        (
            "市役所によると、桟橋の長い工事が終わり、川を渡る渡し船は月曜日の朝からふたたび運航を始めるという。",
            "左岸に住む人たちは夏のあいだずっと、駅のそばの古い橋まで遠回りをしなければならなかったのである。",
            "船長は、高校の生徒たちが船で授業に通うならわしを早く取り戻してくれることを願っていると話している。",
        ),
        (
            "改修を終えた町の図書館が、ガラスの屋根の下に明るい閲覧室をそなえて、ふたたび利用者を迎え入れた。",
            "建築家は古い木の壁板をそのまま残し、その裏に新しい配線と換気の管をすべて見えないように隠している。",
            "長いあいだ倉庫にしまわれていた地元の新聞のつづりも、これからは訪れただれもが手に取って読める。",
        ),
    ),
    "Thai": (
        (
            "เทศบาลแจ้งว่าเรือข้ามฟากจะกลับมาให้บริการอีกครั้งในเช้าวันจันทร์หลังจากซ่อมแซมท่าเรือมาเป็นเวลานาน",
            "ตลอดฤดูร้อนที่ผ่านมาผู้คนทางฝั่งซ้ายต้องอ้อมไปใช้สะพานเก่าข้างสถานีรถไฟซึ่งไกลกว่าเดิมเกือบเท่าตัว",
            "กัปตันหวังว่านักเรียนมัธยมจะกลับมานั่งเรือไปเรียนกันเหมือนเดิมในเร็ววันแทนการเบียดรถโดยสารประจำทาง",
        ),
        (
            "หอสมุดประจำเมืองที่ปรับปรุงเสร็จแล้วเปิดประตูต้อนรับผู้อ่านอีกครั้งพร้อมห้องอ่านหนังสือใต้หลังคากระจก",
            "สถาปนิกเก็บรักษาแผ่นไม้เก่าบนผนังเอาไว้ทั้งหมดและซ่อนสายไฟกับท่อระบายอากาศใหม่ไว้ด้านหลังอย่างแนบเนียน",
            "หนังสือพิมพ์ท้องถิ่นที่เก็บไว้ในคลังมานานหลายปีจะเปิดให้ผู้มาเยือนทุกคนหยิบอ่านได้นับแต่นี้เป็นต้นไป",
        ),
    ),
}


async def judge(detector: NearDupDetector, *paragraphs: str) -> Verdict:
    return await detector.check(detector.document("\n".join(paragraphs)))


@pytest.mark.parametrize("script", STORIES)
async def test_copies_are_found_and_stories_kept_apart(detector: NearDupDetector, script: str) -> None:
    ferry, library = STORIES[script]

    assert (await judge(detector, *ferry)).status == "original"
    assert (await judge(detector, *library)).status == "original"
    assert (await judge(detector, *ferry)).kind == "exact"
    assert (await judge(detector, ferry[1], ferry[0])).status == "duplicate"  # abridged, and in another order
    assert (await judge(detector, *ferry, library[2])).status == "duplicate"  # extended


@pytest.mark.parametrize("script", STORIES)
async def test_the_words_of_every_script_are_counted(script: str) -> None:
    body = Sketcher(PRESETS["news"]).body("\n".join(STORIES[script][0]))

    assert body.words >= 30
    assert body.unspaced is (script in ("Han", "Kana", "Thai"))
    assert not body.short


@pytest.mark.parametrize("script", STORIES)
async def test_how_a_text_is_encoded_and_set_makes_no_difference(detector: NearDupDetector, script: str) -> None:
    text = "\n".join(STORIES[script][0])
    await judge(detector, text)

    for variant in (unicodedata.normalize("NFD", text), text.upper(), f"\ufeff{text}", text.replace("\n", "\r\n")):
        assert (await judge(detector, variant)).kind == "exact"


@pytest.mark.parametrize("script", STORIES)
def test_entities_are_the_characters_they_stand_for(script: str) -> None:
    paragraphs = STORIES[script][0]
    page = "<html><head><meta charset=utf-8><title>{0}</title></head><body><article>{1}</article></body></html>"
    plain = page.format("News", "".join(f"<p>{html.escape(each)}</p>" for each in paragraphs * 2))
    entities = page.format(
        "News", "".join(f"<p>{''.join(f'&#{ord(c)};' for c in each)}</p>" for each in paragraphs * 2)
    )

    assert extract_with_trafilatura(plain, "") == extract_with_trafilatura(entities, "") != ""


@pytest.mark.parametrize(
    ("html_", "language"),
    [
        ('<!doctype html><html lang="pt-BR"><head>', "pt"),
        ("<HTML class=js data-lang='xx' LANG=EN-us>", "en"),
        ('<html xmlns="http://www.w3.org/1999/xhtml" xml:lang="uk">', "uk"),
        ('<html><head><meta property="og:locale" content="sr_RS"></head>', "sr"),
        ('<html lang=""><meta content="fil, en" http-equiv="Content-Language">', "fil"),
        ('<html lang="el"><meta property="og:locale" content="en_US">', "el"),
        ('<html lang="und"><meta property="og:locale" content="en_US">', "en"),
        ('<!-- <html lang="de"> --><html lang="fr">', "fr"),
        ('<html data-x="lang=de"><body lang="it">', ""),
        ('<html lang="{{ lang }}">', ""),
        ('<meta name="description" content="en"><p>nothing</p>', ""),
        ("", ""),
    ],
)
def test_a_page_names_its_language(html_: str, language: str) -> None:
    assert read_head(html_).language == language
    assert read_head(html_.encode()).language == language
