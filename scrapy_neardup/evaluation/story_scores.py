"""Score the final stories of labelled documents: alone, among background documents, and by language."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from scrapy_neardup.evaluation.metrics import b_cubed, mean, pairwise
from scrapy_neardup.evaluation.pages import Page

STORY_PROTOCOLS = ("pairwise", "b-cubed")
UNKNOWN = "unknown"
"""Used in place of the language of documents that do not say theirs."""


_OF_COPIES = frozenset({"recall", "f1", "f1_by_order"})  # rates that mean nothing if there are no copies to find


class WithStories(Protocol):
    """An order of documents, with the story of each of them."""

    @property
    def stories(self) -> Sequence[int]: ...


def story_scores(orders: Sequence[WithStories], clusters: Sequence[str | None]) -> dict[str, dict[str, float]]:
    """Return the mean rates of stories over the orders. ``clusters`` has None for background documents."""
    return {
        "pairwise": mean([pairwise(clusters, order.stories) for order in orders]).rounded(),
        "b-cubed": mean([b_cubed(clusters, order.stories) for order in orders]).rounded(),
    }


def scores_by_language(
    pages: Sequence[Page], orders: Sequence[WithStories], clusters: Sequence[str | None]
) -> dict[str, dict[str, Any]]:
    """Return the number of labelled documents of each language, and the rates of their stories; the commonest first.

    Labelled documents of other languages are left out. Background documents count whatever their language.
    """
    languages = [page.language or UNKNOWN for page in pages]
    labelled = Counter(language for language, cluster in zip(languages, clusters, strict=True) if cluster is not None)
    found: dict[str, dict[str, Any]] = {}
    for language, documents in sorted(labelled.items(), key=lambda item: (-item[1], item[0])):
        chosen = [place for place, each in enumerate(languages) if clusters[place] is None or each == language]
        own_orders = [_Selected([order.stories[place] for place in chosen]) for order in orders]
        own_clusters = [clusters[place] for place in chosen]
        rates = story_scores(own_orders, own_clusters)
        has_copies = max(Counter(filter(None, own_clusters)).values()) > 1
        found[language] = {"documents": documents, **(rates if has_copies else without_recall(rates))}
    return found


def without_recall(scores: Mapping[str, Any]) -> dict[str, Any]:
    """Return scores of documents without copies: with None for each recall and F1."""
    return {
        name: without_recall(value) if isinstance(value, dict) else None if name in _OF_COPIES else value
        for name, value in scores.items()
    }


class _Selected:
    def __init__(self, stories: Sequence[int]) -> None:
        self.stories = stories
