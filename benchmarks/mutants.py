"""How many small faults in the code the tests do not see.

usage: python benchmarks/mutants.py [--count 100] [--seed 1] [--coverage FILE] [PART ...]

Takes a sample of the places where one operator, number, condition or return value can be changed, with a fixed seed,
from the lines that tests run in their own process. Changes one place at a time in a copy of the project, and runs the
tests that run this line, those of the same folder first, up to the first failure: one case of each test first, then
all, for two minutes at most. A change that no test sees has survived: it is printed. Either a test is missing, or the
changed code makes no difference. If the first run does not end, the change counts as seen. The project is not touched.

Which test runs which line is measured once, in about ten minutes, unless ``--coverage`` names the file of such a run.

mutmut 3.8 cannot run these tests: its copies of functions fail in the processes that some tests start elsewhere.
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

from coverage import CoverageData

ROOT = Path(__file__).parents[1]
PACKAGE = "scrapy_neardup"
COPIED = (PACKAGE, "tests", "docs", "benchmarks", "example_project", "pyproject.toml", "README.md")
PARTS = ("evidence", "rules", "text", "sketch", "records", "index", "stories", "detector.py")
TESTED = (*PARTS[:-1], "test_detector.py")
# Stores that answer alike: one kind of Redis is enough.
ONE_REDIS = "not (tls or cluster or valkey or redis6 or redis8 or acl or process)"
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
MOST_SECONDS = 120.0  # for all cases of the tests that have passed with one case each
TestsOfLines = dict[int, list[str]]


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


def measure(folder: Path) -> Path:
    """Run the tests in a copy of the project. Return the file that says which test runs which line."""
    data = folder / "coverage"
    tests = [f"tests/{name}" for name in TESTED]
    options = ["-n", "auto", "-m", "not slow", "-k", ONE_REDIS]
    options += [f"--cov={PACKAGE}", "--cov-context=test", "--cov-report="]
    if not passes(folder, [*options, *tests], seconds=None, COVERAGE_FILE=str(data)):
        raise SystemExit("the tests fail without any mutant")
    return data


def tests_of_lines(data: CoverageData) -> dict[Path, TestsOfLines]:
    """Return the tests that run each line of each module, without their parameters."""
    found: dict[Path, TestsOfLines] = {}
    for file in data.measured_files():
        path = Path(PACKAGE, file.rpartition(f"/{PACKAGE}/")[2])
        found[path] = {
            line: sorted({context.partition("|")[0].partition("[")[0] for context in contexts if "::" in context})
            for line, contexts in data.contexts_by_lineno(file).items()
        }
    return found


def survives(mutant: Mutant, folder: Path, tests: list[str], seconds: float) -> bool:
    """Return whether no test fails on a mutant, which is put into the copy in ``folder`` and taken out again."""
    nearest = sorted(tests, key=lambda test: f"/{mutant.path.stem}" not in test.replace("test_", ""))
    nearest.sort(key=lambda test: not test.startswith(f"tests/{mutant.path.parts[1]}"))
    path = folder / mutant.path
    source = path.read_bytes()
    path.write_bytes(mutant.applied_to(source))
    try:
        quick, everything = ["--quick", "-k", ONE_REDIS, *nearest], ["-k", ONE_REDIS, *nearest]
        return passes(folder, quick, seconds) and passes(folder, everything, MOST_SECONDS, if_late=True)
    finally:
        path.write_bytes(source)


def passes(
    folder: Path, arguments: list[str], seconds: float | None, *, if_late: bool = False, **environment: str
) -> bool:
    """Run tests in the copy up to the first failure. Return ``if_late`` if they take longer than ``seconds``."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *arguments]
    given = {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1", **environment}
    try:
        done = subprocess.run(command, cwd=folder, env=given, capture_output=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return if_late
    told = f"{done.stdout.decode()}{done.stderr.decode()}"
    if done.returncode not in (0, 1, 2, 5) and "ERROR collecting" not in told:
        raise SystemExit(f"pytest cannot run {' '.join(arguments)}: {told}")
    return done.returncode in (0, 5)  # 5: all of these tests are slow ones


def copy_project(folder: Path) -> None:
    for each in COPIED:
        source = ROOT / each
        if source.is_dir():
            shutil.copytree(source, folder / each, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, folder / each)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100, help="how many mutants to try")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=600, help="the longest run of the tests that is waited for")
    parser.add_argument("--coverage", help="the data of a run with --cov-context=test")
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        copy_project(folder)
        data = CoverageData(options.coverage or str(measure(folder)))
        data.read()
        tests = tests_of_lines(data)
        paths = sorted(path for path in tests if path.parts[1] in (options.parts or PARTS))
        mutants = [mutant for path in paths for mutant in mutants_of(path) if tests[path].get(mutant.line)]
        sample = random.Random(options.seed).sample(mutants, min(options.count, len(mutants)))
        survivors = 0
        for mutant in sample:
            survived = survives(mutant, folder, tests[mutant.path][mutant.line], options.seconds)
            survivors += survived
            print(f"{'SURVIVED' if survived else 'seen    '} {mutant}", flush=True)
    print(f"tests saw {len(sample) - survivors} of {len(sample)} mutants, drawn from {len(mutants):,}")


if __name__ == "__main__":
    main()
