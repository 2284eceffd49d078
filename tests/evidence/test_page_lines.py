"""Short lines: those of the article have figures, those of the page (counters, bylines, teasers) have none."""

import pytest

from scrapy_neardup.evidence.changes import changes_between
from scrapy_neardup.evidence.differences import compare
from scrapy_neardup.evidence.figures.figure import Figure, figures_of
from scrapy_neardup.evidence.page_lines import Side

FIRST = "The harbour authority reopened the northern ferry terminal on Thursday after a long storm."
LAST = "Local traders welcomed the decision and said that they had lost most of their customers."
COUNTERS = [
    *("{} comments", "Comments ({})", "Comments: {}", "{} shares", "{} views", "{} min read", "{} minute read"),
    *("{} minutes ago", "Photo {} of 38", "Image {}/38", "Slide {} of 38", "{} likes", "Page {}", "Rating: {}"),
    *("Read also: {} killed in a fire", "Updated {} hours ago", "By Jane Doe, {} articles", "{} followers"),
    *("{} Kommentare", "Lesezeit: {} Minuten", "vor {} Stunden", "Bild {} von 38", "Lesen Sie auch: {} Tote"),
    *("{} commentaires", "il y a {} heures", "Lecture {} min", "Publié il y a {} minutes", "À lire aussi : {} morts"),
    *("{} comentarios", "hace {} horas", "Lectura: {} minutos", "Foto {} de 38", "Lea también: {} muertos"),
    *("{} comentários", "há {} horas", "{} visualizações", "Leia também: {} mortos"),
    *("{} commenti", "{} ore fa", "Tempo di lettura: {} minuti", "Leggi anche: {} morti"),
    *("{} reacties", "{} uur geleden", "Leestijd: {} minuten", "Lees ook: {} doden"),
    *("{} комментариев", "{} минут назад", "Читайте также: {} погибших", "Просмотров: {}", "{} коментарів"),
    *("{} yorum", "{} saat önce", "{} komentarzy", "{} godzin temu", "Czytaj także: {} ofiar"),
    *("{} تعليقات", "منذ {} ساعات", "اقرأ أيضا: {} قتلى", "{} نظر", "{} ساعت پیش"),
    *(
        "좋아요 {}",
        "{} शेयर",
        "{} बार पढ़ा गया",
        "கருத்துகள்: {}",
        "{} shares · 1 komento",
        "{} ang nagbasa",
        "{} delinger",
    ),
    *("{}条评论", "{}分钟前", "阅读 {}", "コメント{}件", "{}時間前", "댓글 {}개", "{}시간 전"),
]
FACTS = [
    *("Killed: {}", "Injured: {}", "{} tsp nutmeg", "{}. Leverage your income", "VIP: {},000₩", "Get it for ${}"),
    *("Viewing age of {} months and above", "Dorvale {} 11 6 15", "{} г филе минтая", "Tote: {}", "Muertos: {}"),
    *("사망 {}명", "{} मृत", "இறந்தவர்கள்: {}", "Patay: {}", "Омб қурбони: {}", "Deaths in Jaime: {}"),
    *("Réactions: {} morts", "사망 {}명 공유", "Uppdaterad: {} döda", "शेयर बाजार {} अंक गिरा", "更新：大火死亡{}人"),
    *("{} buku diterbitkan", "Hubo {} reacciones adversas", "{} procent gillar förslaget"),
    *("5 seguidores detenidos, {}", "Within {} hours two schools also burned down"),
]


def text(line: str, value: int, where: str = "inside") -> str:
    lines = {"above": (line, FIRST, LAST), "inside": (FIRST, line, LAST), "below": (FIRST, LAST, line)}[where]
    return "\n\n".join(lines).replace("{}", str(value))


def figures(line: str, value: int, where: str = "inside") -> list[Figure]:
    return figures_of("", text(line, value, where))


def told(line: str, where: str = "inside") -> tuple[bool, list[str]]:
    """Return whether another value in the line is content, and what is told of it."""
    sides = Side("", text(line, 31, where)), Side("", text(line, 12, where))
    comparison = compare(*sides)
    return comparison.first_new_statement is not None, [each.line for each in changes_between(*sides, comparison)]


@pytest.mark.parametrize("where", ["above", "inside", "below"])
@pytest.mark.parametrize("counter", COUNTERS)
def test_a_counter_of_the_page_is_no_figure(counter: str, where: str) -> None:
    assert not figures(counter, 12, where)
    assert told(counter, where) == (False, [])


@pytest.mark.parametrize("where", ["above", "inside", "below"])
@pytest.mark.parametrize("fact", FACTS)
def test_a_figure_in_a_short_line_of_the_article_is_seen(fact: str, where: str) -> None:
    is_content, _ = told(fact, where)
    assert is_content


def test_only_a_line_that_mostly_names_its_own_paper_is_of_the_page() -> None:
    def is_content(line: str, paper: str, other: str = "other.example") -> bool:
        new, old = Side("", f"{FIRST}\n{line}\n{LAST}", paper), Side("", f"{FIRST}\n{LAST}", other)
        return compare(new, old).first_new_statement is not None

    assert not is_content("Source: Harrowtimes", "www.harrowtimes.example")
    assert is_content("Harrow floods all of its streets", "www.harrowtimes.example")
    assert is_content("Volcano erupts", "other.example", "volcano-erupts.example")


def test_a_teaser_of_the_old_text_holds_no_news() -> None:
    news = "The mayor of the town was arrested this morning"
    old, new = (Side("", f"{FIRST}\n{line}\n{LAST}") for line in (f"Read more: {news}", news))
    assert compare(new, old).first_new_statement is not None
    assert compare(old, new).first_new_statement is None
    for line in ("Like this: Like Loading...", "Details loading…", "Watch the interview"):
        page = Side("", f"{FIRST}\n{LAST}\n{line}")
        assert compare(page, Side("", f"{FIRST}\n{LAST}\nVideo")).first_new_statement is None


def test_a_toll_is_told_wherever_it_stands() -> None:
    assert told("Killed: {}", "below")[1] == ["dead: 12 -> 31"]
    assert told("{} people on board were killed.", "below")[1] == ["dead: 12 -> 31"]
    assert {each.label for each in figures("Twelve workers were killed.", 12, "below")} == {"dead"}
