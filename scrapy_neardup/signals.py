"""Signals of this package, sent through ``crawler.signals``; handlers may be coroutines and are awaited."""

from __future__ import annotations

document_checked = object()
"""Sent once a verdict is there, before the item is tagged or dropped: ``item``, ``verdict``, ``spider``."""

duplicate_found = object()
"""Sent for each ``duplicate`` verdict, tagged or dropped: ``item``, ``verdict``, ``spider``."""
