"""Decide whether the settings of a project turn the plugin on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

from scrapy.settings import BaseSettings
from scrapy.utils.misc import load_object

State = Literal["ok", "warning", "failed"]

_OURS = "scrapy_neardup"
_ENTRY = f'"{_OURS}.Addon": 500'
_LINE = f"ADDONS = {{{_ENTRY}}}"
_BY_HAND = (
    ("ITEM_PIPELINES", "CapturePipeline"),
    ("ITEM_PIPELINES", "NearDupPipeline"),
    ("SPIDER_MIDDLEWARES", "NearDupSpiderMiddleware"),
)
_ASYNCIO = "asyncioreactor.AsyncioSelectorReactor"


class Finding(NamedTuple):
    """The result of one check. ``mend`` says what to do if it is not ok."""

    check: str
    state: State
    found: str
    mend: str = ""


def check_add_on(settings: BaseSettings, *, in_project: bool, enabled: bool = True) -> Finding:
    """Decide whether crawls with these settings of Scrapy judge items."""
    for component, error in _loading_errors(settings):
        mend = f"write {_LINE}" if _OURS in str(component) else "correct or remove this entry"
        return Finding("add-on", "failed", f"{component!r}, which cannot be loaded: {error}", mend)
    if not enabled:
        mend = "remove NEARDUP_ENABLED from the settings, or set it to True"
        return Finding("add-on", "warning", "NEARDUP_ENABLED = False: no item is judged", mend)
    missing = [f"{part} in {name}" for name, part in _BY_HAND if not _has_part(settings, name, part)]
    if missing and not _has_part(settings, "ADDONS", "Addon"):
        return _not_wired(settings, missing, in_project=in_project)
    # With None, Twisted chooses another reactor. Without a reactor, Scrapy runs on asyncio alone.
    reactor = settings.get("TWISTED_REACTOR")
    if settings.getbool("TWISTED_REACTOR_ENABLED", True) and not str(reactor).endswith(_ASYNCIO):
        mend = "remove TWISTED_REACTOR: the plugin needs asyncio, Scrapy's default"
        return Finding("add-on", "failed", f"TWISTED_REACTOR = {reactor!r}: no item is judged", mend)
    return Finding("add-on", "ok", "these settings turn the plugin on")


def _not_wired(settings: BaseSettings, missing: list[str], *, in_project: bool) -> Finding:
    if len(missing) < len(_BY_HAND):
        mend = f'add it (docs/settings.md, "Wiring by hand"), or write {_LINE} instead'
        return Finding("add-on", "failed", f"wired by hand, without {' and '.join(missing)}", mend)
    if not in_project:
        return Finding("add-on", "ok", f"not looked for, as there is no project here; in a script, set {_LINE}")
    given = settings.getdict("ADDONS")
    others = any(order is not None and not str(name).startswith(f"{_OURS}.") for name, order in given.items())
    mend = f"add {_ENTRY} to ADDONS in settings.py" if others else f"write {_LINE} into settings.py"
    return Finding("add-on", "failed", f"ADDONS = {given!r}: the plugin is off, and no item is judged", mend)


def _loading_errors(settings: BaseSettings) -> Iterator[tuple[Any, Exception]]:
    """Yield the add-ons, and those of our own components, that cannot be loaded."""
    for name in ("ADDONS", "ITEM_PIPELINES", "SPIDER_MIDDLEWARES"):
        for component in _enabled(settings, name):
            if name == "ADDONS" or str(component).startswith(f"{_OURS}."):
                try:
                    load_object(component)
                except Exception as error:  # importing a module may raise anything
                    yield component, error


def _enabled(settings: BaseSettings, name: str) -> list[Any]:
    return [component for component, order in (settings.getdict(name) or {}).items() if order is not None]


def _has_part(settings: BaseSettings, name: str, part: str) -> bool:
    """Return whether our class of this name, or a subclass of it, is enabled in the setting ``name``."""
    ours = load_object(f"{_OURS}.{part}")
    for component in _enabled(settings, name):
        try:
            found = load_object(component)
        except Exception:  # the crawl itself says which component cannot be loaded
            continue
        if isinstance(found, type) and issubclass(found, ours):
            return True
    return False
