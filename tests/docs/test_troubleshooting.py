"""The page of messages has only those that are in the code."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "scrapy_neardup"
PAGE = (ROOT / "docs/troubleshooting.md").read_text(encoding="utf-8").partition("## By message")[2]
LISTED = re.findall(r"^\| `(.+?)` \|", PAGE, re.MULTILINE)


def template(node: ast.AST, constants: dict[str, str]) -> str:
    """Return a text with … in place of the parts that differ each time."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return re.sub(r"%[sdrg]", "…", node.value).replace("%%", "%")
    if isinstance(node, ast.JoinedStr):
        return "".join(template(each, constants) for each in node.values)
    if isinstance(node, ast.FormattedValue):
        return template(node.value, constants)
    return constants.get(node.id, "…") if isinstance(node, ast.Name) else "…"


def texts_of(path: Path) -> Iterator[str]:
    """Yield every text that a module contains, with the names that it gives to texts filled in."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    named = [node for node in ast.walk(tree) if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)]
    constants = {
        node.targets[0].id: template(node.value, {}) for node in named if isinstance(node.targets[0], ast.Name)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr | ast.Constant):
            yield template(node, constants)


def test_the_code_has_every_message_of_the_page() -> None:
    texts = "\n".join(text for path in PACKAGE.rglob("*.py") for text in texts_of(path))
    # The name of a setting and its value stand before the reason.
    reasons = {listed: listed.partition(" = …: ")[2] or listed for listed in LISTED}
    patterns = {listed: "[^\n]*".join(map(re.escape, reason.split("…"))) for listed, reason in reasons.items()}

    assert LISTED
    assert not [listed for listed, pattern in patterns.items() if not re.search(pattern, texts)]
