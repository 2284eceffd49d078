"""Where sentences end, in several languages."""

from __future__ import annotations

import pytest

from scrapy_neardup.text.sentences import read_sentences, whole_sentences

LINES = """
The ferry sailed on Dec. 24 with Gov. Hale and Dr. Moore aboard. | It sank at noon.
J. R. R. Hale wrote it for the U.S. Navy in 1920. | Nobody read it.
They went to war, and the war was long. | The war ended in spring.
Prices rose by 5%. | The mayor called it "a disgrace". | "We paid $3.50," he said (in May). | 12 shops closed.
Who did it? | Nobody knows!"
Read more at news.example.com or call us. | You may call us now.
The ferry sank, SKERROW.EX - a paper - reported. | You may call TARN.EX now.
The crossing was slow.|The ferry arrived at 6.30 p.m. on Friday.
Das Schiff fuhr am 13. November ca. 40 Seemeilen nach Norden. | Es sank.
Об этом сообщил инж. Петров из Москвы на встрече. | Работы начнутся завтра.
船は沈没した。|「乗客は無事だ。」|船長は語った。
नौका डूब गई। | डॉ. वर्मा सुरक्षित हैं।
배는 어제 침몰했다. | 승객은 모두 구조됐다.
படகு நேற்று கவிழ்ந்தது. | எம். ஜி. ராமன் காப்பாற்றப்பட்டார்.
غرقت العبارة أمس. | ونجا د. سالم العلي.
გუშინ ბორანი ჩაიძირა. | კაპიტანი გადარჩა.
"""


@pytest.mark.parametrize("line", LINES.strip().splitlines())
def test_sentences_end_where_a_reader_ends_them(line: str) -> None:
    text = line.replace(" | ", " ").replace("|", "")
    assert whole_sentences(text) == [each.strip() for each in line.split("|")]


def test_two_texts_are_cut_alike() -> None:
    text = "The passengers reached Bex. Everything was dark."
    one, other = read_sentences(text, "Passengers knew Bex, a village.\n" + text)
    assert [*one] == other[1:]
    assert len(whole_sentences(text)) == 1


def test_short_words_of_vietnamese_are_no_abbreviations() -> None:
    assert len(whole_sentences("Trời đã tối khi họ trả tự do. Họ đã ngủ. " * 6)) == 12
