"""Signals of this package, sent through ``crawler.signals``; handlers may be coroutines and are awaited."""

from __future__ import annotations

document_checked = object()
"""Sent for each item that has a verdict, before it is tagged or dropped: ``item``, ``verdict`` (a Verdict), ``spider``.

Items of one page without a text of their own are one document, which is judged once. The signal is sent for each of
them, with the same verdict; stats such as ``neardup/checked`` count each of them too."""

story_event = object()
"""Sent by the process that raises a level of an event or an update: ``event`` (a StoryEvent), ``report`` (its special
report as sinks get it), ``spider``. The item that tipped the story may still be under way, or may be dropped."""

duplicate_found = object()
"""Sent for each item whose verdict is ``duplicate``, tagged or dropped, with the same arguments."""
