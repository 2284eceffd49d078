"""Print the rooms of the package and who imports whom, as a Mermaid flowchart.

An arrow points from a room to a room that it imports. An arrow is left out if a longer way leads to the same room.

    python benchmarks/draw_rooms.py           # print the picture
    python benchmarks/draw_rooms.py --write   # put it into docs/architecture.md, with the lines of the reading path
"""

from __future__ import annotations

import ast
import re
import sys
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

PACKAGE = "scrapy_neardup"
PAGE = Path(__file__).parents[1] / "docs/architecture.md"
BLOCK = re.compile("^```mermaid\nflowchart TD\n.*?^```\n", re.MULTILINE | re.DOTALL)
ROW = re.compile(r"^\| `(\w[\w/]*\.py)` \| \d+ \| (.*) \|$", re.MULTILINE)
SUM = re.compile(r"(?<=Together these are )\d+")


def imports_of_rooms() -> dict[str, set[str]]:
    """Return for each room, a folder or a module at the root of the package, the rooms that it imports."""
    import grimp  # the lines are counted without it

    graph = grimp.build_graph(PACKAGE)
    rooms: dict[str, set[str]] = {}
    for module in graph.modules - {PACKAGE}:
        room = module.split(".")[1]
        imported = graph.find_modules_directly_imported_by(module) - {PACKAGE}
        rooms.setdefault(room, set()).update({each.split(".")[1] for each in imported} - {room})
    return rooms


def draw(rooms: dict[str, set[str]]) -> str:
    """Return the flowchart, the rooms that nobody imports first. Raise graphlib.CycleError if imports form a circle."""

    @cache
    def reachable(room: str) -> frozenset[str]:
        return frozenset(rooms[room]).union(*(reachable(each) for each in rooms[room]))

    upwards = list(TopologicalSorter({room: sorted(rooms[room]) for room in sorted(rooms)}).static_order())
    lines = ["flowchart TD"]
    for room in reversed(upwards):
        beyond = frozenset[str]().union(*(reachable(each) for each in rooms[room]))
        lines += [f"    {room} --> {each}" for each in sorted(rooms[room] - beyond)]
    return "\n".join(["```mermaid", *lines, "```", ""])


def lines_to_read(file: str, cells: str) -> int:
    """Return how many lines a row of the reading path names: those of functions, classes and constants, or all."""
    source = (PAGE.parents[1] / PACKAGE / file).read_text(encoding="utf-8")
    if cells.endswith("| all"):
        return len(source.splitlines())
    names = set(re.findall("`(\\w+)`", cells))
    lines = set[int]()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.name in names:
            first = min(each.lineno for each in (node, *node.decorator_list))
            lines |= {*range(first, (node.end_lineno or first) + 1)}
        elif isinstance(node, ast.Assign) and any(getattr(each, "id", "") in names for each in node.targets):
            lines |= {*range(node.lineno, (node.end_lineno or node.lineno) + 1)}
    return len(lines)


def counted(page: str) -> str:
    """Return the page with the lines of the reading path as they are now."""
    page = ROW.sub(lambda row: f"| `{row[1]}` | {lines_to_read(row[1], row[2])} | {row[2]} |", page)
    return SUM.sub(str(sum(lines_to_read(*row.groups()) for row in ROW.finditer(page))), page)


if __name__ == "__main__":
    picture = draw(imports_of_rooms())
    if "--write" in sys.argv:
        page = BLOCK.sub(lambda _: picture, PAGE.read_text(encoding="utf-8"))
        PAGE.write_text(counted(page), encoding="utf-8")
    else:
        print(picture, end="")
