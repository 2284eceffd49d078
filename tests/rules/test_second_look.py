"""Which candidates' texts are read: at most two, chosen by sketch alone."""

from collections.abc import Sequence

from documents import WIRE, Article

from scrapy_neardup.records.documents import StoredText, new_record
from scrapy_neardup.rules.decision import MOST_LOOKS, chosen_for_second_look, with_second_look
from scrapy_neardup.rules.pair import Pair
from scrapy_neardup.rules.policy import Policy

NEW = Article("new", at=60, source="new.example")
POLICY = Policy()


def chosen(*candidates: Article, new: Article = NEW, policy: Policy = POLICY, is_seen: bool = True) -> Sequence[str]:
    """Return the texts of the chosen candidates."""
    olds = {bytes.fromhex(each.id): each for each in candidates}
    return [olds[pair.key].text for pair in chosen_for_second_look(pairs_of(candidates, new, policy, is_seen)).values()]


def pairs_of(
    candidates: Sequence[Article], new: Article = NEW, policy: Policy = POLICY, is_seen: bool = True
) -> list[Pair]:
    record = new_record(new.fingerprint, new.document)
    olds = {bytes.fromhex(each.id): new_record(each.fingerprint, each.document) for each in candidates}
    return [Pair(key, record, old, policy, is_seen=is_seen) for key, old in olds.items()]


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
    assert "like 110" in chosen(*LIKE, same, is_seen=False)


def test_of_equal_texts_one_is_read() -> None:
    copies = [LIKE[0].copy(source=f"{number}.example", at=-number) for number in range(6)]
    assert chosen(*copies, LIKE[1]) == ["like 110", "like 70"]


def test_a_second_look_changes_no_pair() -> None:
    pairs = pairs_of(LIKE)
    texts = {pair.key: StoredText("", each.prose) for pair, each in zip(pairs, LIKE, strict=True)}
    looked = with_second_look(pairs, NEW.document, texts)
    assert [pair.old_text and pair.old_text.text for pair in looked] == [None, LIKE[1].prose, LIKE[2].prose, None, None]
    assert [pair.is_passed_over for pair in looked] == [True, False, False, True, True]
    assert not any(pair.new_text or pair.old_text or pair.kept_text or pair.is_passed_over for pair in pairs)
    # What the sketches told is not computed again.
    assert all(one.likeness is other.likeness for one, other in zip(pairs, looked, strict=True))
