"""The reference pages have every tag, verdict and constant of the code."""

from __future__ import annotations

import ast
import inspect
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest
from projects import FERRY, Project

from scrapy_neardup.crawl.run_summary import STATS
from scrapy_neardup.document import KINDS, STATUSES, TAGS, Reason
from scrapy_neardup.rules.systems import NOT_DROPPED
from scrapy_neardup.story import LEVELS

ROOT = Path(__file__).parents[1]
SETTINGS = (ROOT / "docs/settings.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("word", [*TAGS, *STATUSES, *KINDS, *get_args(Reason)])
def test_every_tag_and_value_is_explained(word: str) -> None:
    assert f"`{word}`" in SETTINGS


def test_every_reason_to_keep_a_duplicate_is_listed() -> None:
    section = TROUBLES.partition("### Duplicates are not dropped")[2].partition("\n### ")[0]
    for guard in NOT_DROPPED:
        told = re.findall('"([a-z][^"{]{20,40})', inspect.getsource(guard))
        assert any(text in section for text in told), guard.__name__


# Every stat of a crawl is explained; the navigation has every page


DOCS = ROOT / "docs"


def test_every_stat_of_a_crawl_is_in_the_table(project: Project) -> None:
    parts = {"<status>": "|".join(STATUSES), "<level>": "|".join(LEVELS), "<name>": "[a-z-]+", "<figure>": r"\w+"}
    names = [re.sub("<[a-z]+>", lambda part: f"({parts[part[0]]})", name) for name in STATS]
    names.append(f"({parts['<status>']})/({'|'.join([*KINDS, *get_args(Reason)])})")
    done = project.crawl(FERRY, NEARDUP_RECORD="recorded.jsonl.gz")
    found = {name.removeprefix("neardup/") for name in done.stats if name.startswith("neardup/")}
    assert {"checked", "run/kept", "duplicate/exact"} <= found
    assert [name for name in found if not any(re.fullmatch(pattern, name) for pattern in names)] == []


def test_every_guide_is_in_the_list_of_guides() -> None:
    listed = (DOCS / "howto/index.md").read_text(encoding="utf-8")
    assert [path.name for path in (DOCS / "howto").glob("*.md") if f"({path.name})" not in listed] == ["index.md"]


def test_the_menu_has_25_pages_and_leaves_out_only_pages_that_another_page_links_to() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    listed = set(re.findall(r"^ +- (?:.+: )?([\w/-]+\.md)$", navigation, re.MULTILINE))
    pages = {str(path.relative_to(DOCS)): path.read_text(encoding="utf-8") for path in DOCS.rglob("*.md")}
    assert listed <= pages.keys()
    assert len(listed) <= 25
    linked = {
        os.path.normpath(f"{Path(page).parent}/{target}")
        for page, text in pages.items()
        for target in re.findall(r"\]\(([\w./-]+\.md)", text)
    }
    assert pages.keys() - listed - linked == set()


def test_the_pages_are_short() -> None:
    pages = [
        *DOCS.rglob("*.md"),
        *(ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "SECURITY", "CHANGELOG")),
    ]
    words = {str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").split()) for path in pages}
    assert sum(words.values()) <= 42_000
    assert [page for page, count in words.items() if page.startswith("docs/decisions/") and count > 500] == []


# The page of messages has only those that are in the code


PACKAGE = ROOT / "scrapy_neardup"
TROUBLES = (ROOT / "docs/troubleshooting.md").read_text(encoding="utf-8")
PAGE = TROUBLES.partition("## By message")[2]
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
    texts = "\n".join({text for path in PACKAGE.rglob("*.py") for text in texts_of(path)})
    # The name of a setting and its value stand before the reason.
    reasons = {listed: listed.partition(" = …: ")[2] or listed for listed in LISTED}
    patterns = {listed: "[^\n]*".join(map(re.escape, reason.split("…"))) for listed, reason in reasons.items()}
    assert LISTED
    for listed, pattern in patterns.items():
        longest = max(reasons[listed].split("…"), key=len)
        lines = [line for line in texts.splitlines() if longest in line]
        assert any(re.search(pattern, line) for line in lines), listed
