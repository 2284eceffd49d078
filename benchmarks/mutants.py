"""How many small faults in the arithmetic and in the verdicts the tests do not see.

usage: python benchmarks/mutants.py [--each 16] [--seed 1] [--jobs 2] [PART ...]

Takes a sample of the places where one operator, number, condition or return value can be changed, with a fixed seed,
the same number from each part of the package. Changes one place at a time in a copy of the project and runs the tests
of the part up to the first failure, beginning with those that are named as the module. A change that no test sees has
survived: it is printed, and either a test is missing or the changed code makes no difference. A run that takes too
long counts as seen. The copies lie in a temporary folder; the project itself is not touched.

mutmut 3.8 cannot run these tests: its copies of functions fail in the processes that some tests start elsewhere.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

ROOT = Path(__file__).parents[1]
# Stores that answer alike: one kind of Redis is enough, and scripts of Redis need no other store.
_OTHERS = "tls or sentinel or cluster or valkey or redis6 or redis8 or acl or process"
ONE_REDIS = ["-k", f"not ({_OTHERS})"]
ONLY_REDIS = ["-k", f"not ({_OTHERS} or memory or sqlite)"]
# Folders and modules of the package, with the tests that see them beside those of their own folder.
PARTS = {
    "rules": ["tests/evidence/test_titles.py", "tests/index", *ONE_REDIS],
    "evidence": ["tests/rules", "tests/index/test_topics_and_templates.py", *ONE_REDIS],
    "records": ["tests/index", *ONE_REDIS],
    "index": ["tests/index", *ONE_REDIS],
    "index/redis/scripts": ["tests/index/test_matches.py", "tests/index", *ONLY_REDIS],
    "stories": ["tests/stories", *ONE_REDIS],
    "sketch": ["tests/sketch", *ONE_REDIS],
    "text": ["tests/text"],
    "detector.py": [
        "tests/test_detector.py",
        "tests/index/test_runs.py",
        "tests/stories",
        "tests/commands/test_status_purge.py",
        *ONE_REDIS,
    ],
}
COPIED = ("scrapy_neardup", "tests", "docs", "benchmarks", "example_project", "pyproject.toml", "README.md")
OPPOSITES: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
EXCHANGED = {"min": "max", "max": "min", "any": "all", "all": "any"}
# In a Lua script: comments and strings, which stay as they are, or what can be changed.
LUA = re.compile(
    r"--\[\[.*?\]\]|--[^\n]*|'[^'\n]*'|([<>~=]=|[<>]|\b(?:and|or)\b|\bnot |\bmath\.(?:min|max)\b|\b\d+\b)", re.DOTALL
)
LUA_OPPOSITES = {
    "<": "<=",
    "<=": "<",
    ">": ">=",
    ">=": ">",
    "==": "~=",
    "~=": "==",
    "and": "or",
    "or": "and",
    "not ": "",
    "math.min": "math.max",
    "math.max": "math.min",
}


@dataclass(frozen=True)
class Mutant:
    """One changed expression or statement of a file: from ``begin`` to ``end``, in bytes."""

    path: Path
    line: int
    begin: int
    end: int
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.before.strip()}  ->  {self.after.strip()}"

    def applied_to(self, source: bytes) -> bytes:
        return source[: self.begin] + self.after.encode() + source[self.end :]


def mutants_of(path: Path) -> Iterator[Mutant]:
    """Yield every mutant of a file, in the order of its lines."""
    if path.suffix == ".lua":
        yield from _lua_mutants_of(path)
        return
    source = (ROOT / path).read_bytes()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for node in _mutable(ast.parse(source)):
        begin, end = starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset
        for changed in _changes(node):
            yield Mutant(path, node.lineno, begin, end, ast.unparse(node), ast.unparse(changed))


def _lua_mutants_of(path: Path) -> Iterator[Mutant]:
    source = (ROOT / path).read_text(encoding="ascii")
    for found in LUA.finditer(source):
        if (token := found[1]) is None:
            continue
        begin, end = source.rfind("\n", 0, found.start()) + 1, source.find("\n", found.end())
        before, behind = source[begin : found.start()], source[found.end() : end]
        for changed in [LUA_OPPOSITES[token]] if token in LUA_OPPOSITES else [str(int(token) + 1), str(int(token) - 1)]:
            line, after = source.count("\n", 0, begin) + 1, before + changed + behind
            yield Mutant(path, line, begin, end, source[begin:end], after)


def _mutable(tree: ast.Module) -> list[ast.expr | ast.Return]:
    """Return the nodes of functions that may be changed: no annotations, default values, decorators and docstrings."""
    found: list[ast.expr | ast.Return] = []
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            for statement in function.body:
                inner = [statement]
                while inner:
                    node = inner.pop()
                    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.JoinedStr):
                        continue
                    if isinstance(node, ast.expr | ast.Return):
                        found.append(node)
                    annotation = getattr(node, "annotation", None)
                    inner += [each for each in ast.iter_child_nodes(node) if each is not annotation]  # type: ignore[misc]
    return sorted(found, key=lambda node: (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset))


def _changes(node: ast.expr | ast.Return) -> Iterator[ast.AST]:
    changed = deepcopy(node)
    if isinstance(changed, ast.Compare) and len(changed.ops) == 1:
        changed.ops = [OPPOSITES[type(changed.ops[0])]()]
        yield changed
    elif isinstance(changed, ast.Constant) and type(changed.value) in (int, float):
        for step in (1, -1):
            yield ast.Constant(changed.value + step)
    elif isinstance(changed, ast.BoolOp):
        changed.op = ast.And() if isinstance(changed.op, ast.Or) else ast.Or()
        yield changed
    elif isinstance(changed, ast.UnaryOp) and isinstance(changed.op, ast.Not):
        yield changed.operand
    elif isinstance(changed, ast.Call) and isinstance(changed.func, ast.Name) and changed.func.id in EXCHANGED:
        changed.func.id = EXCHANGED[changed.func.id]
        yield changed
    elif isinstance(changed, ast.Return) and changed.value is not None and ast.unparse(changed.value) != "None":
        yield ast.Return(ast.Constant(None))


def survives(mutant: Mutant, folder: Path, tests: list[str], seconds: float) -> bool:
    """Return whether no test fails on a mutant, which is put into the copy in ``folder`` and taken out again."""
    path = folder / mutant.path
    source = path.read_bytes()
    path.write_bytes(mutant.applied_to(source))
    try:
        return passes(folder, [*nearest_tests(mutant.path), *tests], seconds)
    finally:
        path.write_bytes(source)


def nearest_tests(module: Path) -> list[str]:
    """Return the test file with the name of a module and the folder of its tests, if they exist."""
    folder = Path("tests", *module.parts[1:-1])
    places = [folder / f"test_{module.name}", folder] if folder != Path("tests") else []
    return [str(place) for place in places if (ROOT / place).exists()]


def passes(folder: Path, tests: list[str], seconds: float) -> bool:
    """Run the tests in the copy up to the first failure."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    environment = {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return False
    if done.returncode not in (0, 1, 2):  # 2: a file cannot even be imported
        raise SystemExit(f"pytest cannot run {' '.join(tests)}: {done.stdout.decode()}{done.stderr.decode()}")
    return done.returncode == 0


def copy_project(folder: Path) -> Path:
    for each in COPIED:
        source = ROOT / each
        if source.is_dir():
            shutil.copytree(source, folder / each, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, folder / each)
    return folder


def survivors_in(part: str, options: argparse.Namespace, copies: SimpleQueue[Path]) -> None:
    """Run the tests of one part on a sample of its mutants, several at once, and print how many were seen."""
    place = ROOT / "scrapy_neardup" / part
    files = [place]
    if place.is_dir():
        files = sorted(place.glob("*.lua")) or sorted(place.rglob("*.py"))
    mutants = [mutant for path in files for mutant in mutants_of(path.relative_to(ROOT))]
    sample = random.Random(options.seed).sample(mutants, min(options.each, len(mutants)))

    def try_one(mutant: Mutant | None) -> bool:
        folder = copies.get()
        try:
            if mutant is None:
                return passes(folder, PARTS[part], options.seconds)
            survived = survives(mutant, folder, PARTS[part], options.seconds)
        finally:
            copies.put(folder)
        print(f"{'SURVIVED' if survived else 'seen    '} {mutant}", flush=True)
        return survived

    with ThreadPoolExecutor(options.jobs) as pool:
        passed, *survived = pool.map(try_one, [None, *sample])
    if not passed:
        raise SystemExit(f"the tests of {part} fail, or take too long, without any mutant")
    print(
        f"{part}: tests saw {len(sample) - sum(survived)} of {len(sample)} mutants, drawn from {len(mutants):,}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--each", type=int, default=16, help="how many mutants of each part")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=900, help="the longest run of the tests that is waited for")
    parser.add_argument("--jobs", type=int, default=2, help="how many mutants are tried at once")
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        copies: SimpleQueue[Path] = SimpleQueue()
        for number in range(options.jobs):
            (folder := Path(name, str(number))).mkdir()
            copies.put(copy_project(folder))
        for part in options.parts or PARTS:
            survivors_in(part, options, copies)


if __name__ == "__main__":
    main()
