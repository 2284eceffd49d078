"""The page of messages has only those that the code logs."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "scrapy_neardup"
PAGE = (ROOT / "docs/troubleshooting.md").read_text(encoding="utf-8").partition("## By message")[2]
LISTED = re.findall(r"^\| `(.+?)` \|", PAGE, re.MULTILINE)
LOGGED = ("warning", "error", "exception")
# These reach the log as the reason at the end of another message.
RAISED = ("StoreError", "NoWindowError", "StoreUnavailable", "ExtractionError", "DeliveryFailed", "SettingsError")


Constants = dict[str, str]


def template(node: ast.expr, constants: Constants) -> str:
    """Return a message with … in place of the parts that differ each time."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return re.sub(r"%[sdrg]", "…", node.value).replace("%%", "%")
    if isinstance(node, ast.JoinedStr):
        return "".join(template(each, constants) for each in node.values)
    if isinstance(node, ast.FormattedValue):
        return template(node.value, constants)
    return constants.get(node.id, "…") if isinstance(node, ast.Name) else "…"


def constants_of(tree: ast.AST) -> Constants:
    """Return the texts that a module gives names to, and those in its tables under numbers."""
    constants: Constants = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            texts = node.value.values if isinstance(node.value, ast.Dict) else []
            constants |= {f"{node.lineno}-{number}": template(each, {}) for number, each in enumerate(texts)}
            if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
                constants[node.targets[0].id] = template(node.value, {})
    return constants


def messages(tree: ast.AST, constants: Constants) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
            is_logger = isinstance(node.func.value, ast.Name) and node.func.value.id == "logger"
            if (is_logger and node.func.attr in LOGGED) or (node.func.attr == "_warn_once" and len(node.args) == 1):
                yield template(node.args[0], constants)
        made = node.exc if isinstance(node, ast.Raise) else node.value if isinstance(node, ast.Return) else None
        if not (isinstance(made, ast.Call) and isinstance(made.func, ast.Name) and made.args):
            continue
        if made.func.id == "SettingsError" and len(made.args) == 3:
            name, _, reason = made.args
            yield f"{template(name, constants)} = …: {template(reason, constants)}"
        elif made.func.id in RAISED:
            yield template(made.args[0], constants)


@pytest.fixture(scope="module")
def in_the_code() -> set[str]:
    """Every text that the code could log, or that a table of it names."""
    texts = set()
    for path in PACKAGE.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        constants = constants_of(tree)
        texts |= {*messages(tree, constants), *constants.values()}
    return texts


@cache
def pattern_of(listed: str) -> re.Pattern[str]:
    return re.compile(".*".join(map(re.escape, listed.split("…"))), re.DOTALL)


def fits(listed: str, message: str) -> bool:
    return pattern_of(listed).fullmatch(message) is not None


def test_the_code_has_every_message_of_the_page(in_the_code: set[str]) -> None:
    assert LISTED
    assert not [listed for listed in LISTED if not any(fits(listed, message) for message in in_the_code)]
