"""Signals of this package, sent through ``crawler.signals``; handlers may be coroutines and are awaited."""

document_checked = object()
"""Sent for each item that has a verdict, before it is tagged or dropped: ``item``, ``verdict`` (a Verdict), ``spider``.

If several items of a page have no text of their own, they are one document, which is judged once. The signal is sent
for each of these items, with the same verdict. Stats such as ``neardup/checked`` count each item too."""

story_event = object()
"""Sent by the process that raises a level or an update of an event: ``event`` (a StoryEvent), ``report`` (the special
report that receivers get), ``spider``. The item that raised the event may still be in the pipelines, or be dropped."""
