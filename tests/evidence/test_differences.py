"""Content differences and wording: two papers print one text, and one of them another word."""

from __future__ import annotations

import pytest

from scrapy_neardup.evidence.differences import Comparison, compare
from scrapy_neardup.evidence.page_lines import Side

# Two texts a language are enough to show the mechanism; braces hold the word of the old text and that of the new one.
CONTENT = [
    ("en", "Cholera has spread in two villages. {4|Two} people have died in the district."),
    ("en", "Cholera has spread in two villages. {4|Two more} people have died in the district."),
    ("en", "Cholera has spread in two villages on Monday. {At least 4|At least two} people have died."),
    ("en", "The river has burst its banks. {Four|Four more} people have died in the town."),
    ("de", "Der Fluss trat über die Ufer. Im Kreis starben {4|4 weitere} Menschen."),
    ("fr", "La rivière a débordé. Dans la ville {4|4 autres} personnes sont mortes."),
    ("es", "El río se desbordó. En el pueblo murieron {4|4 más} personas."),
    ("ru", "Река вышла из берегов. В городе погибли {4|ещё 4} человека."),
    ("si", "නිලධාරීන් රුපියල් {25,000ක|විසි දහසක} වැටුප් වැඩිවීමක් ඉල්ලා සිටිති."),
    ("en", "The {northern|southern} gate of the harbour stays shut until the storm has passed."),
    ("en", "The board has {confirmed|denied} that the plant at the river will be sold."),
    ("en", "Nurses at the clinic will be paid their bonus next {week|year}. The clinic was built last year."),
    ("en", "{Half|Most} of the bridges in the valley were damaged by the flood."),
    ("en", "Only drivers {up to|at least} 70 have to renew their licence at the office."),
    ("en", "The cost of the new bridge is put {at|above} 40 million crowns by the council."),
    ("en", "The court has postponed the hearing {again|further}, to the anger of the families."),
    ("en", "The storm has blocked {all|some} roads that lead out of the valley."),
    ("ru", "Ремонт школы обошёлся {около|свыше} 12 миллионов в прошлом году."),
    ("hi", "गाँव में {कम|ज्यादा} बारिश से फसल को नुकसान हुआ।"),
    ("en", "The lifeboat was paid for with {$40|£40} from every family in the village."),
    ("en", "Sales of the company {doubled|halved} between the spring and the autumn."),
    ("de", "Die Stadt zahlt dem Verein 30 {Euro|Dollar} für jeden gepflanzten Baum."),
    ("de", "Die {Hälfte|Mehrzahl} der Schulen im Landkreis bekommt neue Fenster."),
    ("fr", "La {moitié|totalité} des quais du port sera rénovée au printemps."),
    ("ru", "Заседание совета перенесли на {пятницу|понедельник} из-за болезни судьи."),
    ("ru", "Ремонт моста обошёлся области в 12 миллионов {рублей|долларов}."),
    ("pl", "Koncert na rynku przełożono na {poniedziałek|sobotę} z powodu burzy."),
    ("tr", "Bakan, limanın kış boyunca {kapatılmayacağını|kapatılacağını} duyurdu."),
    ("tr", "Belediye sel için 3 milyon {lira|dolar} ayırdı."),
    ("fa", "شورای شهر طرح ساخت پل تازه را {رد|تصویب} کرد."),
    ("hi", "गाँव में आग लगने से {सात|नौ} घर जल गए।"),
    ("vi", "Tỉnh ban hành cảnh báo màu {đỏ|vàng} cho vùng ven biển."),
    ("vi", "Giá gạo ở chợ huyện {tăng|giảm} trong tuần. Giá cá giảm từ tháng trước."),
    ("bn", "লঞ্চে অতিরিক্ত যাত্রী {ছিল না|ছিল}।"),
    ("ko", "공장 측은 설비에 이상이 {없었다고|있었다고} 밝혔다."),
    ("el", "Ο υπουργός {απέρριψε|δέχτηκε} το αίτημα των κατοίκων για νέα έρευνα."),
    ("zh", "市政府{没有发现|发现}桥梁存在安全隐患。"),
    ("zh", "演唱会改在星期{二|四}举行，门票仍然有效。"),
    ("th", "ทางการเตือนว่าถนนสาย{เหนือ|ใต้}จะปิดเพราะน้ำท่วม"),
    ("th", "บริษัทยืนยันว่าสะพาน{ไม่ได้|}ชำรุดก่อนเกิดเหตุ"),
    ("en", "Lorries over 12 tonnes {will|may} be kept off the bridge from June."),
    ("en", "Repairs {must|should} begin before the first storm of the winter."),
    ("en", "The {deputy mayor|mayor} said that the contractor was to blame for the delay."),
    ("en", "The village mourned its {mayor|former mayor} with a mass at the old church."),
    ("fr", "Le gardien a été bloqué toute la nuit dans une rame de la ligne {B|D}."),
    ("fr", "Les salariés touchent une prime de 800 euros par {an|mois} depuis la grève."),
    ("fr", "Le syndicat a voté {contre|pour} la fermeture de la piscine du quartier."),
    ("fi", "Savusta {ei ole|on} vaaraa asukkaille, palopäällikkö kertoi."),
    ("ja", "町の検査で有害物質は検出{されなかった|された}という。"),
    ("ko", "창고에서 시작된 불로 직원 {세|아홉} 명이 병원으로 옮겨졌다."),
    ("ur", "پولیس کے مطابق ڈرائیور نشے میں {نہیں تھا|تھا}۔"),
    ("sw", "Bandari ya mji wa zamani {itafungwa|itafunguliwa} siku ya Ijumaa."),
    # One sentence of the text is reworded, and it may be reworded in several places.
    ("en", "The mayor will stay {treasurer|home secretary}. Her home is far from the office of the secretary."),
    ("en", "The pilot is to be {fined|suspended} but avoids {suspension|a fine} for the landing on the old road."),
    ("en", "Clerks {resigned|retracted} their {appointment|resignation} on Monday, the union of the county wrote."),
    (
        "en",
        "Unions of the county say that the march to the harbour {will take place on Saturday despite|may be called off"
        " after} the attack on the tram depot by the river.",
    ),
    ("fr", "Ce médicament traite {les troubles de l'attention avec ou sans fièvre|la migraine}, et il est bon marché."),
    ("en", "The town of {Oldfen sued Tarnwick|Tarnwick sued Oldfen} over the bridge between the two markets."),
    ("ar", "{غلب الهلال الاتحاد|غلب الاتحاد الهلال} في المباراة النهائية أمس في المدينة بحضور كبير."),
    ("en", "The bond that the county sold matures on {15.12.2026|15.12.2028} and pays four percent."),
    ("en", "The court told the paper to pay {N|$}800,000 to the publisher of the almanac."),
    ("de", "Die Wirte {weisen|räumen} die Vorwürfe {zurück|ein}. Der Rat berät am Montag. Vorwürfe gibt es seit Mai."),
    ("en", "The new track ends 50 {m|km} from the old church of the village."),
    ("en", "The ferry {was closed|will be closed} to lorries at the weekend."),
    ("ar", "عرض الفنان في نيويورك {لاخر اعماله|لا} الفنية بمدينة الجبل، بتزامن مع عيد المدينة القديمة."),
    ("hu", "{Negyvenmilliárd|Négymilliárd} forinttal csökkent ősszel a falvak adóssága."),
    ("ru", "Ерлан Сапаров назначен {заместителем руководителя|руководителем} канцелярии области."),
    ("ja", "これはTarnfield Paper{渋谷|池袋}PARK店のオープンを記念し、秋に発売される。"),
    ("th", "โครงการใช้เงิน 41,000 {ล้าน|พันล้าน}บาท เป็นเวลา 23 ปี"),
]
WORDING = [
    ("en", "Twenty trees fell in the storm, the mayor {said|stated}."),
    ("en", "Soldiers found two {AK-47|AK-47s} under the floor of the old house."),
    ("en", "The tunnel is {three|3} {kilometres|kilometers} long."),
    ("en", "Unemployment rose by {ten per cent|10 percent} in the valley last year."),
    ("de", "Der Zug kam erst nach {zwanzig|20} Minuten am Bahnhof an."),
    ("it", "Il sindaco ha {detto|dichiarato} che la piazza resterà vuota."),
    ("ru", "Пожар {произошёл|произошел} ночью на складе у реки."),
    ("pl", "Straty wyniosły {dziesięć|10} procent rocznych dochodów gminy."),
    ("pl", "W wypadku ucierpiało {siedem|7} osób z okolicznych wsi."),
    ("ar", "وبلغ طول الطريق الجديد {ثلاثة|3} كيلومترات قرب البحر."),
    ("fa", "بانک {سه|۳} میلیارد دلار برای ساخت راه آهن پرداخت."),
    ("hi", "मेले में {बीस|20} दुकानें जल गईं और बाजार बंद रहा।"),
    ("vi", "Cây cầu mới dài {hai mươi|20} kilomet và rất đẹp."),
    ("de", "Von der Sperrung sind {rund|etwa} 900 Haushalte betroffen."),
    ("it", "La riparazione del ponte costerà {circa|pressappoco} 900 mila euro."),
    ("en", "The council has found {two more|two further} cracks in the old bridge."),
    ("id", "Sekolah itu memiliki {dua belas|12} kelas dan sebuah lapangan."),
    ("ta", "திருவிழாவில் {ஏழு|7} கடைகள் தீயில் எரிந்தன."),
    ("zh", "市长{表示|说}，新的图书馆将在秋天落成。"),
    ("en", "The series was {produced and shot|shot and produced} by people of the valley."),
    ("fa", "به گزارش {ایسنا|روزنامه شهر}، شهردار پل تازه را باز کرد و مردم خوشحال شدند."),
    ("en", "Drivers pay 26 cents a {liter|litre} at the harbour since the spring."),
    ("en", "The bridge is closed for lorries.{|\nTags: #bridge #lorries #tarnwick}"),
    ("pl", "Most będzie {także|również} dla rowerów, napisała gazeta z doliny."),
]
BEFORE = {"en": "The report came out this morning.", "zh": "报道于今天早上发布。"}


def compared(language: str, text: str, *, is_title: bool = False) -> Comparison:
    """Compare the text before with the text after each edit."""
    sides = []
    for which in (1, 0):
        printed = text
        while "{" in printed:
            head, rest = printed.split("{", 1)
            edit, tail = rest.split("}", 1)
            printed = head + edit.split("|")[which] + tail
        body = "" if is_title else printed
        title = printed if is_title else ""
        sides.append(Side(title, f"{BEFORE.get(language, '')}\n{body}", f"{which}.example", language))
    return compare(*sides)


@pytest.mark.parametrize(("language", "text"), CONTENT)
def test_a_word_that_changes_the_news_is_a_content_difference(language: str, text: str) -> None:
    assert compared(language, text).first_new_statement is not None


@pytest.mark.parametrize(("language", "text"), WORDING)
def test_another_wording_is_none(language: str, text: str) -> None:
    assert compared(language, text).first_new_statement is None


def test_a_figure_is_new_although_the_next_sentence_of_the_old_text_has_it() -> None:
    sides = (f"About {value} percent of the crew had no training. Debts stand at 2,100." for value in ("2,100", "7"))
    new, old = (Side("", text, "", "en") for text in sides)
    assert compare(new, old).first_new_statement


def test_a_word_in_a_title_counts_if_the_rest_of_the_title_is_equal() -> None:
    assert compared("en", "Fire in a hotel by the lake: three guests {dead|unhurt}", is_title=True).first_new_statement
    assert not compared("en", "Three guests {dead|unhurt} in {fire|blaze} at hotel", is_title=True).first_new_statement


def test_a_text_that_still_has_the_old_name_is_no_form() -> None:
    behind = " Later Quillfeather thanked the mayor and the people of Tarnfield, and a band played."
    text = (
        "The runner Quillfeather won the race through the old town on Sunday in record time. Thousands stood in the"
        " streets of Tarnfield and waited until the last runner had passed the church."
    )
    edited = text.replace("Quillfeather", "Oldershaw").replace("Tarnfield", "Brackenmoor")
    old = Side("", text + behind, "", "en")
    assert compare(Side("", edited, "", "en"), Side("", text, "", "en")).has_other_names
    assert not compare(Side("", edited + behind, "", "en"), old).has_other_names
