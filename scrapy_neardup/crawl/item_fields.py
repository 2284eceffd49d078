"""Read the text of items, and write verdicts into their fields, whatever the type of an item."""

from __future__ import annotations

import logging
from typing import Any

from itemadapter import ItemAdapter
from scrapy.utils.misc import load_object

from scrapy_neardup.document import MOST_CHARACTERS, TAGS, Verdict
from scrapy_neardup.exceptions import SettingsError

logger = logging.getLogger(__name__)


_MOST_PARTS = 10_000  # of a field that is a list


def load_item_class(name: str | type) -> type:
    """Return a class of ``NEARDUP_ITEM_CLASSES``, which is a class or an import path. Raise SettingsError otherwise."""
    try:
        loaded = load_object(name)
    except (ImportError, NameError, ValueError, TypeError) as error:
        raise SettingsError("NEARDUP_ITEM_CLASSES", name, f"cannot be imported: {error}") from error
    if not isinstance(loaded, type):
        raise SettingsError("NEARDUP_ITEM_CLASSES", name, "is not a class")
    return loaded


def text_of(adapter: ItemAdapter, field: str | None) -> str:
    """Return the beginning of the text in an item's field, or "" if it is missing, blank or not a text."""
    value = adapter.get(field) if field else None
    if isinstance(value, list | tuple):  # item loaders without output processors leave a list
        value = "\n".join(part[:MOST_CHARACTERS] for part in value[:_MOST_PARTS] if isinstance(part, str))
    if not isinstance(value, str):
        return ""
    value = value[:MOST_CHARACTERS]
    return value if value.strip() else ""


def tags_of(verdict: Verdict) -> dict[str, Any]:
    """Return all tags, with None for those that do not apply. A CSV feed takes its columns from the first item."""
    tags = {tag: getattr(verdict, tag.removeprefix("neardup_")) for tag in TAGS}
    return tags | {
        "neardup_original": verdict.original_url or verdict.original,
        "neardup_match": verdict.match_url or verdict.match,
        "neardup_changes": "; ".join(verdict.changes) or None,
    }


class Tagger:
    """Writes the tags of ``fields`` (tag -> field name) into the fields that an item can take.

    An item type that can take none of them passes unchanged, and one warning names it.
    """

    def __init__(self, fields: dict[str, str]) -> None:
        self._fields = fields
        self._warned: set[type] = set()

    def tags(self, verdict: Verdict) -> dict[str, Any]:
        """Return the tags that ``fields`` selects, under the names of their item fields."""
        tags = tags_of(verdict)
        return {name: tags[tag] for tag, name in self._fields.items()}

    def tag(self, adapter: ItemAdapter, verdict: Verdict) -> bool:
        """Write the tags. Return whether the item took any."""
        is_tagged = False
        for name, tag in self.tags(verdict).items():
            try:
                adapter[name] = tag
            except KeyError:  # the item does not declare this field
                continue
            except Exception as error:  # the item is frozen, or has validators
                self._warn_once(adapter, f"does not take {name!r} ({type(error).__name__}: {error})")
                return False
            is_tagged = True
        if not is_tagged:
            self._warn_once(adapter, "declares none of the fields of a verdict")
        return is_tagged

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
