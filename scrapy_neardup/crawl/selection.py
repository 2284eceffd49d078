"""Which items are judged, and what they say of themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from scrapy.utils.misc import load_object

from scrapy_neardup.document import MOST_CHARACTERS
from scrapy_neardup.exceptions import SettingsError

if TYPE_CHECKING:
    from itemadapter import ItemAdapter

MOST_PARTS = 10_000
"""Of a field that is a list."""


class ItemSelection:
    """``NEARDUP_ITEM_CLASSES``: classes or import paths; none means every item.

    Raises SettingsError where one cannot be imported.
    """

    def __init__(self, classes: Sequence[str | type]) -> None:
        self.classes = tuple(self._load(each) for each in classes)

    def includes(self, item: Any) -> bool:
        return not self.classes or isinstance(item, self.classes)

    @staticmethod
    def _load(named: str | type) -> type:
        try:
            loaded = load_object(named)
        except (ImportError, NameError, ValueError, TypeError) as error:
            raise SettingsError("NEARDUP_ITEM_CLASSES", named, f"cannot be imported: {error}") from error
        if not isinstance(loaded, type):
            raise SettingsError("NEARDUP_ITEM_CLASSES", named, "is no class")
        return loaded


def text_of(adapter: ItemAdapter, field: str | None) -> str:
    """Return the beginning of the text of an item's field, "" if it has none or nothing but blanks."""
    value = adapter.get(field) if field else None
    if isinstance(value, list | tuple):  # as item loaders without output processors leave it
        value = "\n".join(part[:MOST_CHARACTERS] for part in value[:MOST_PARTS] if isinstance(part, str))
    if not isinstance(value, str):
        return ""
    value = value[:MOST_CHARACTERS]
    return value if value.strip() else ""
