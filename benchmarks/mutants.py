"""How many small faults in the arithmetic and in the verdicts the tests do not see.

usage: python benchmarks/mutants.py [--sample 30] [--seed 1] [--seconds 300] [--in FOLDER_OR_FILE ... --] TEST ...

Takes a sample of the places where one operator, number, condition or return value can be changed, with a fixed seed, in
``similarity``, ``index`` and ``detector.py`` of the package. Changes one place at a time in a copy of the project and
runs the tests named (paths and options of pytest) up to the first failure. A change that no test sees has survived: it
is printed, and either a test is missing or the changed code makes no difference. A run that takes too long counts as
seen. The copy lies in a temporary folder; the project itself is not touched.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
MUTATED = ("scrapy_neardup/similarity", "scrapy_neardup/index", "scrapy_neardup/detector.py")
COPIED = ("scrapy_neardup", "tests", "docs", "pyproject.toml", "README.md")
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
        return f"{self.path}:{self.line}: {self.before}  ->  {self.after}"

    def applied_to(self, source: bytes) -> bytes:
        return source[: self.begin] + self.after.encode() + source[self.end :]


def mutants_of(path: Path) -> Iterator[Mutant]:
    """Yield every mutant of a file, in the order of its lines."""
    source = (ROOT / path).read_bytes()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for node in _mutable(ast.parse(source)):
        begin, end = starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset
        for changed in _changes(node):
            yield Mutant(path, node.lineno, begin, end, ast.unparse(node), ast.unparse(changed))


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
        return passes(folder, tests, seconds)
    finally:
        path.write_bytes(source)


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


def _modules(place: Path) -> list[Path]:
    return list(place.rglob("*.py")) if place.is_dir() else [place]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, default=30, help="how many mutants; 0 counts those there are")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=300, help="the longest run of the tests that is waited for")
    parser.add_argument("--in", dest="places", nargs="+", default=MUTATED, metavar="PLACE")
    options, tests = parser.parse_known_args()
    tests = [each for each in tests if each != "--"]

    files = [
        path
        for place in options.places
        for path in ([ROOT / place], (ROOT / place).rglob("*.py"))[(ROOT / place).is_dir()]
    ]
    mutants = [mutant for path in sorted(files) for mutant in mutants_of(path.relative_to(ROOT))]
    sample = random.Random(options.seed).sample(mutants, min(options.sample, len(mutants)))
    print(f"{len(sample)} of {len(mutants):,} mutants in {len(files)} files, seed {options.seed}", flush=True)
    if not sample:
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for each in COPIED:
            source = ROOT / each
            shutil.copytree(source, folder / each) if source.is_dir() else shutil.copy(source, folder / each)
        if not passes(folder, tests, options.seconds):
            raise SystemExit("the tests fail, or take too long, without any mutant")
        survivors = 0
        for number, mutant in enumerate(sample, 1):
            survived = survives(mutant, folder, tests, options.seconds)
            survivors += survived
            print(f"{number:3d} {'SURVIVED' if survived else 'seen    '} {mutant}", flush=True)
    print(f"{survivors} of {len(sample)} survived: {survivors / len(sample):.0%}")


if __name__ == "__main__":
    main()
