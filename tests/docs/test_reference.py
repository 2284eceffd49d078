"""The pages of settings and commands have what the code says: nobody writes these parts by hand."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def reference(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(DOCS / "theme"))
    monkeypatch.delitem(sys.modules, "reference", raising=False)
    import reference

    return reference


def test_the_pages_are_those_that_the_code_would_write(reference: ModuleType) -> None:
    pages = {name: (DOCS / name).read_text(encoding="utf-8") for name in reference.PAGES}
    old = [name for name, text in pages.items() if reference.with_reference(text) != text]
    assert old == [], "write them again: python docs/theme/reference.py"


def test_every_setting_and_command_has_a_place(reference: ModuleType) -> None:
    pages = "\n".join((DOCS / name).read_text(encoding="utf-8") for name in reference.PAGES)
    assert reference.missing(pages) == []
    assert "ACTION" in reference.missing(pages.replace("ENABLED, ACTION,", "ENABLED,"))
