"""Which items are judged."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from scrapy.utils.misc import load_object

from scrapy_neardup.exceptions import SettingsError


class ItemSelection:
    """``NEARDUP_ITEM_CLASSES``: classes or import paths; none means every item."""

    def __init__(self, classes: Sequence[str | type]) -> None:
        self._named = classes

    def includes(self, item: Any) -> bool:
        return not self._named or isinstance(item, self.classes)

    @cached_property
    def classes(self) -> tuple[type, ...]:
        return tuple(self._load(each) for each in self._named)

    @staticmethod
    def _load(named: str | type) -> type:
        try:
            loaded = load_object(named)
        except (ImportError, NameError, ValueError, TypeError) as error:
            raise SettingsError("NEARDUP_ITEM_CLASSES", named, f"cannot be imported: {error}") from error
        if not isinstance(loaded, type):
            raise SettingsError("NEARDUP_ITEM_CLASSES", named, "is no class")
        return loaded
