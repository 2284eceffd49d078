"""Keeps the modules of a running crawl out of the garbage collector's way.

Each full collection would go through all of them again, and hold up the event loop for 100 ms. What is frozen is the
process's: several crawlers hold it together, and a program that has frozen something itself is left alone.
"""

from __future__ import annotations

import gc

_holders = 0
_is_ours = False


def freeze() -> None:
    """Until ``unfreeze`` has been called as often."""
    global _holders, _is_ours
    _holders += 1
    if not gc.get_freeze_count():
        gc.freeze()
        _is_ours = True


def unfreeze() -> None:
    global _holders, _is_ours
    _holders -= 1
    if not _holders and _is_ours:
        gc.unfreeze()
        _is_ours = False
