"""Removing events of one publisher from the files of an outbox."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from scrapy_neardup.stories.outbox_files import OutboxFiles

EVENT = '{"url": "https://wire.example/x"}'


def is_named(text: str) -> bool:
    return "wire.example" in text


def test_a_dry_run_leaves_the_draft_of_a_dead_process(tmp_path: Path) -> None:
    draft = tmp_path / "0123abcd.draft"
    draft.write_text(EVENT, encoding="utf-8")
    (tmp_path / "1.json").write_text(EVENT, encoding="utf-8")
    assert OutboxFiles(tmp_path).remove_named(is_named, dry_run=True) == 1
    assert {path.name for path in tmp_path.iterdir()} == {"1.json", draft.name}
    assert OutboxFiles(tmp_path).remove_named(is_named) == 1
    assert not list(tmp_path.glob("*.json")) + list(tmp_path.glob("*.draft"))


@pytest.mark.skipif(sys.platform != "linux", reason="needs a file of Linux that even root cannot read")
def test_an_event_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "1.json").symlink_to("/proc/self/mem")
    with pytest.raises(OSError, match="Input/output error"):
        OutboxFiles(tmp_path).remove_named(is_named)
