"""Files of JSON lines, such as feeds and recorded documents."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any


def read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def write_lines(path: Path, rows: Iterable[object]) -> Path:
    path.write_text(lines_of(rows), "utf-8")
    return path


def lines_of(rows: Iterable[object]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)
