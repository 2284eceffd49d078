"""Signals of this package, sent through ``crawler.signals``; handlers may be coroutines and are awaited."""

from __future__ import annotations

document_checked = object()
"""Sent for each item once its verdict is there, before it is tagged or dropped: ``item``, ``verdict``, ``spider``.

Items of one page that have no text of their own are one document: it is judged once, and each of them is sent with the
same verdict. ``neardup/checked`` and the other stats count them likewise, item by item."""

story_event = object()
"""Sent by the process that raises a level of an event or an update: ``event`` (a StoryEvent), ``report`` (its special
report, as the sinks get it), ``spider``. The item that tipped it may be on its way still, or be dropped."""

duplicate_found = object()
"""Sent for each item whose verdict is ``duplicate``, tagged or dropped: ``item``, ``verdict``, ``spider``."""
