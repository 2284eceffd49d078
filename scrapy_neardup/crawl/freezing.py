"""Exclude the loaded modules from garbage collection while a crawl runs.

Otherwise each full collection would visit all their objects again, and block the event loop for 100 ms. Freezing
affects the whole process. So several crawlers share one freeze, and nothing is done if the program itself has frozen
objects already.
"""

from __future__ import annotations

import gc

_holders = 0
_is_ours = False


def freeze() -> None:
    """Freeze all present objects, until ``unfreeze`` has been called as often as ``freeze``."""
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
