"""Select the items that are judged, and read the text of their fields."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from scrapy.utils.misc import load_object

from scrapy_neardup.document import MOST_CHARACTERS
from scrapy_neardup.exceptions import SettingsError

if TYPE_CHECKING:
    from itemadapter import ItemAdapter

_MOST_PARTS = 10_000  # of a field that is a list


class ItemSelection:
    """The items of ``NEARDUP_ITEM_CLASSES``, which are classes or import paths. An empty list selects every item.

    Raise SettingsError if a class cannot be imported.
    """

    def __init__(self, classes: Sequence[str | type]) -> None:
        self.classes = tuple(self._load(each) for each in classes)

    def includes(self, item: Any) -> bool:
        return not self.classes or isinstance(item, self.classes)

    @staticmethod
    def _load(name: str | type) -> type:
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
    if isinstance(value, list | tuple):  # as item loaders without output processors leave it
        value = "\n".join(part[:MOST_CHARACTERS] for part in value[:_MOST_PARTS] if isinstance(part, str))
    if not isinstance(value, str):
        return ""
    value = value[:MOST_CHARACTERS]
    return value if value.strip() else ""
