"""Cases of tests in text files beside them: one a line, with two blanks between its parts."""

import re
from pathlib import Path


def read_cases(path: Path) -> dict[str, list[tuple[str, ...]]]:
    """Return the cases by the headings above them."""
    found = re.findall(r"^\[([a-z ]+)\]\n((?:.+\n)*)", path.read_text("utf-8"), re.MULTILINE)
    return {
        kind: [tuple(each.replace("\\n", "\n").split("  ")) for each in lines.splitlines()] for kind, lines in found
    }
