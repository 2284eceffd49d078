"""Decide whether the settings of a project turn the plugin on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

from scrapy.settings import BaseSettings
from scrapy.utils.misc import load_object

ENTRY = '"scrapy_neardup.Addon": 500'
LINE = f"ADDONS = {{{ENTRY}}}"
"""The line of ``settings.py`` that turns the plugin on."""

_OURS = "scrapy_neardup"
_BY_HAND = {
    "ITEM_PIPELINES": ("CapturePipeline", "NearDupPipeline"),
    "SPIDER_MIDDLEWARES": ("NearDupSpiderMiddleware",),
}
_ASYNCIO = "asyncioreactor.AsyncioSelectorReactor"


def loading_errors(settings: BaseSettings) -> Iterator[tuple[str, str]]:
    """Yield what cannot be loaded of the add-ons and of our own components, and how to mend it."""
    for name in ("ADDONS", *_BY_HAND):
        for component in _enabled(settings, name):
            if name != "ADDONS" and not str(component).startswith(f"{_OURS}."):
                continue
            try:
                load_object(component)
            except Exception as error:  # importing a module may raise anything
                found = f"{name} names {component!r}, which cannot be loaded: {error}"
                meant = f"write {LINE}" if _OURS in str(component) else "correct or remove this entry"
                yield found, meant


def missing_parts(settings: BaseSettings) -> list[str]:
    """Return what is missing before the plugin judges items: nothing, the whole add-on, or parts wired by hand."""
    if _has_part(settings, "ADDONS", "Addon"):
        return []
    missing = [
        f"{part} in {name}" for name, parts in _BY_HAND.items() for part in parts if not _has_part(settings, name, part)
    ]
    return ["the add-on"] if len(missing) == sum(map(len, _BY_HAND.values())) else missing


def has_asyncio(settings: BaseSettings) -> bool:
    """Decide whether crawls with these settings run on asyncio."""
    if not settings.getbool("TWISTED_REACTOR_ENABLED", True):
        return True  # Scrapy then runs on asyncio alone
    return str(settings.get("TWISTED_REACTOR")).endswith(_ASYNCIO)  # with None, Twisted chooses another reactor


def _enabled(settings: BaseSettings, name: str) -> list[Any]:
    return [component for component, order in (settings.getdict(name) or {}).items() if order is not None]


def _has_part(settings: BaseSettings, name: str, part: str) -> bool:
    """Return whether our class of this name, or a subclass of it, is enabled in the setting ``name``."""
    ours = load_object(f"{_OURS}.{part}")
    return any(isinstance(each, type) and issubclass(each, ours) for each in _loaded(_enabled(settings, name)))


def _loaded(components: Iterable[Any]) -> Iterator[Any]:
    """Yield what components name. Leave out those that cannot be loaded: the crawl itself says which."""
    for component in components:
        with suppress(Exception):  # importing a module may raise anything
            yield load_object(component)
