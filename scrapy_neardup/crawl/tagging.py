"""Write a verdict into flat fields of an item, whatever its type."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from scrapy_neardup.document import Verdict

if TYPE_CHECKING:
    from itemadapter import ItemAdapter

logger = logging.getLogger(__name__)


def tags_of(verdict: Verdict) -> dict[str, Any]:
    """Return all tags, with None for those that do not apply. A CSV feed takes its columns from the first item."""
    return {
        "neardup_status": verdict.status,
        "neardup_kind": verdict.kind,
        "neardup_original": verdict.original_url or verdict.original,
        "neardup_match": verdict.match_url or verdict.match,
        "neardup_similarity": verdict.similarity,
        "neardup_containment": verdict.containment,
        "neardup_share": verdict.share,
        "neardup_would_drop": verdict.would_drop,
        "neardup_story": verdict.story,
        "neardup_changes": "; ".join(verdict.changes) or None,
        "neardup_event": verdict.event,
        "neardup_reason": verdict.reason,
    }


class Tagger:
    """Writes the tags of ``fields`` (tag -> field name) into the fields that an item can take.

    An item type that can take none of them passes unchanged, and one warning names it.
    """

    def __init__(self, fields: dict[str, str]) -> None:
        self._fields = fields
        self._warned: set[type] = set()

    def tags(self, verdict: Verdict) -> dict[str, Any]:
        """Return the tags of ``fields``, by the names of their fields."""
        tags = tags_of(verdict)
        return {name: tags[tag] for tag, name in self._fields.items()}

    def tag(self, adapter: ItemAdapter, verdict: Verdict) -> None:
        tags = tags_of(verdict)
        names = {tag: name for tag, name in self._fields.items() if self._takes(adapter, name)}
        try:
            for tag, name in names.items():
                adapter[name] = tags[tag]
        except Exception as error:  # the item is frozen, or has validators
            self._warn_once(adapter, f"does not take {name!r} ({type(error).__name__}: {error})")
            return
        if not names:
            self._warn_once(adapter, "declares none of the fields of a verdict")

    @staticmethod
    def _takes(adapter: ItemAdapter, name: str) -> bool:
        return isinstance(adapter.item, dict) or name in adapter.field_names()

    def _warn_once(self, adapter: ItemAdapter, problem: str) -> None:
        kind = type(adapter.item)
        if kind in self._warned:
            return
        self._warned.add(kind)
        logger.warning(
            "%s %s: its items pass untagged. Derive it from scrapy_neardup.NearDupItem (scrapy.Item) or "
            "scrapy_neardup.NearDupFields (dataclass), declare the fields of NEARDUP_FIELDS in it, or leave it out of "
            "NEARDUP_ITEM_CLASSES.",
            f"{kind.__module__}.{kind.__qualname__}",
            problem,
        )
