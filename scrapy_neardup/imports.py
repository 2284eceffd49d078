"""Load the callable that a setting names by its import path."""

from __future__ import annotations

from collections.abc import Callable
from pkgutil import resolve_name
from typing import Any, cast

from scrapy_neardup.exceptions import SettingsError


def load_callable(setting: str, path: str, allowed: str) -> Callable[..., Any]:
    """Return the callable that an import path names. If there is none, raise SettingsError and say what is allowed."""
    try:
        found = resolve_name(path)
    except (ImportError, AttributeError, ValueError) as error:
        raise SettingsError(setting, path, f"{error}; must be {allowed}") from error
    if not callable(found):
        raise SettingsError(setting, path, f"must be {allowed}")
    return cast("Callable[..., Any]", found)
