"""Which candidates' texts are read: at most four, chosen by sketch alone."""

from __future__ import annotations

from collections.abc import Sequence

from documents import WIRE, Article

from scrapy_neardup.records.documents import new_record
from scrapy_neardup.rules.pair import CandidateState, Pair
from scrapy_neardup.rules.policy import Policy
from scrapy_neardup.rules.second_look import MOST_LOOKS, chosen_for_second_look

NEW = Article("new", at=60, source="new.example")


def chosen(
    *candidates: Article,
    new: Article = NEW,
    policy: Policy = Policy(),  # noqa: B008
    state: CandidateState = "seen",
) -> Sequence[str]:
    """Return the texts of the chosen candidates."""
    record = new_record(new.fingerprint, new.document)
    olds = {bytes.fromhex(each.id): each for each in candidates}
    pairs = [
        Pair(key, record, new_record(each.fingerprint, each.document), policy, state) for key, each in olds.items()
    ]
    return [olds[pair.key].text for pair in chosen_for_second_look(pairs)]


def like(text: str, equal: int, **more: str) -> Article:
    return Article(text, like="new", equal=equal, source=f"{text}.example", **more)


STRANGER = Article("stranger")
LIKE = [like(f"like {equal}", equal) for equal in (70, 110, 100, 90, 80)]


def test_the_most_alike_are_chosen() -> None:
    assert chosen(STRANGER, *LIKE) == ["like 110", "like 100"]
    assert len(LIKE) > MOST_LOOKS


def test_the_page_comes_first_however_little_is_left_of_its_text() -> None:
    page = Article("rewritten", url=WIRE, source="wire.example", at=-900)
    new = NEW.copy(url=WIRE, source="wire.example", at=0)
    assert chosen(*LIKE, page, new=new)[0] == "rewritten"


def test_if_the_window_has_the_very_text_only_that_of_the_own_page_is_read() -> None:
    same = Article("new", source="other.example")
    assert chosen(*LIKE, same) == []
    page, new = LIKE[0].copy(url=WIRE, at=-900), NEW.copy(url=WIRE, source=LIKE[0].source)
    assert chosen(*LIKE[1:], page, same, new=new) == ["like 70"]
    assert "like 110" in chosen(*LIKE, same, state="lost")


def test_of_equal_texts_one_is_read() -> None:
    copies = [LIKE[0].copy(source=f"{number}.example", at=-number) for number in range(6)]
    assert chosen(*copies, LIKE[1]) == ["like 110", "like 70"]


def test_what_the_scope_leaves_out_is_not_read() -> None:
    own = LIKE[0].copy(source="new.example")
    assert chosen(*LIKE, own, policy=Policy(scope="same-source")) == ["like 70"]
