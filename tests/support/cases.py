"""Cases of tests in text files beside them: one a line, with two blanks between its parts."""

import re
from pathlib import Path


def read_cases(path: Path) -> dict[str, list[tuple[str, ...]]]:
    """Return the cases by the headings above them. Empty lines between cases count nothing."""
    _, *parts = re.split(r"^\[([a-z ]+)\]$", path.read_text("utf-8"), flags=re.MULTILINE)
    assert len({*parts[::2]}) == len(parts[::2]), f"{path} has a heading twice"
    return {
        kind: [tuple(each.replace("\\n", "\n").split("  ")) for each in lines.splitlines() if each]
        for kind, lines in zip(parts[::2], parts[1::2], strict=True)
    }


def old_and_new(text: str) -> tuple[str, str]:
    """Return a text with ``{old|new}`` in some places as it was and as it is now."""
    choice = r"{([^|}]*)\|([^|}]*)}"
    assert "{" not in re.sub(choice, "", text), f"not one old and one new word in braces: {text}"
    return re.sub(choice, r"\1", text), re.sub(choice, r"\2", text)
