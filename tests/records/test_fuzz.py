"""Bytes that are flipped, cut or repeated raise nothing but our own errors. Long form: benchmarks/reliability.py."""

from __future__ import annotations

from pathlib import Path

import pytest
from damage import TARGETS, fuzz
from long_form import tries

CASES = tries(1000)


@pytest.mark.parametrize("target", TARGETS)
def test_damaged_bytes_raise_nothing_but_our_own_errors(tmp_path: Path, target: str) -> None:
    fuzz(target, CASES, tmp_path)
