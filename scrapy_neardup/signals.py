"""Signals of this package, sent through ``crawler.signals``; handlers may be coroutines and are awaited."""

from __future__ import annotations

document_checked = object()
"""Sent once a verdict is there, before the item is tagged or dropped: ``item``, ``verdict``, ``spider``."""

story_event = object()
"""Sent by the process that raises a level of an event or an update: ``event`` (a StoryEvent), ``report`` (its special
report, as the sinks get it), ``spider``. The item that tipped it may be on its way still, or be dropped."""

duplicate_found = object()
"""Sent for each ``duplicate`` verdict, tagged or dropped: ``item``, ``verdict``, ``spider``."""
