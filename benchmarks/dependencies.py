"""How many packages an installation has, how large they are, and which of them requires which.

usage: python benchmarks/dependencies.py [--tree]

Run it in an environment that has the plugin with all its extras. It prints the tables of docs/dependencies.md. With
``--tree`` it prints every package below the one that requires it, with its own size.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from functools import cache
from importlib.metadata import distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PLUGIN = "scrapy-neardup"
EXTRAS = ("fast", "hiredis", "report", "stem")


@cache
def requirements(package: str, extra: str = "") -> tuple[str, ...]:
    """Return the packages that a package requires on this machine; with an extra, those for the extra only."""
    names = []
    for line in distribution(package).requires or []:
        required = Requirement(line)
        always = required.marker is None or required.marker.evaluate({"extra": ""})
        wanted = (
            bool(required.marker and required.marker.evaluate({"extra": extra})) and not always if extra else always
        )
        if wanted:
            names.append(str(canonicalize_name(required.name)))
            for nested in required.extras:
                names.extend(requirements(names[-1], nested))
    return tuple(sorted(set(names)))


def closure(packages: Iterable[str]) -> set[str]:
    """Return the packages and everything they require."""
    found: set[str] = set()
    waiting = list(packages)
    while waiting:
        if (package := waiting.pop()) not in found:
            found.add(package)
            waiting.extend(requirements(package))
    return found


@cache
def size(package: str) -> float:
    """Return the MB that a package takes on the disk, without the bytecode that pip or Python makes of it."""
    files = (Path(str(path.locate())) for path in distribution(package).files or [] if path.suffix != ".pyc")
    return sum(file.stat().st_size for file in files if file.exists()) / 1e6


def total(packages: set[str]) -> str:
    return f"{len(packages)} | {sum(map(size, packages)):.0f}"


def print_totals() -> None:
    scrapy, everything = closure(["scrapy"]), closure(requirements(PLUGIN))
    print("| installed | packages | MB |\n|---|---|---|")
    print(f"| Scrapy alone | {total(scrapy)} |")
    print(f"| with the plugin | {total(everything | {PLUGIN})} |")
    for extra in EXTRAS:
        print(f"| `[{extra}]` adds | {total(closure(requirements(PLUGIN, extra)) - everything)} |")


def print_dependencies() -> None:
    direct = requirements(PLUGIN)
    print("| dependency | packages | MB | MB that nothing else needs |\n|---|---|---|---|")
    for package in sorted(direct, key=lambda each: -sum(map(size, closure([each])))):
        others = closure(each for each in direct if each != package)
        print(f"| {package} | {total(closure([package]))} | {sum(map(size, closure([package]) - others)):.1f} |")


def print_tree(package: str, depth: int, printed: set[str]) -> None:
    again = ", see above" if package in printed and requirements(package) else ""
    print(f"{'  ' * depth}{package} {distribution(package).version} ({size(package):.1f} MB{again})")
    if package not in printed:
        printed.add(package)
        for each in requirements(package):
            print_tree(each, depth + 1, printed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tree", action="store_true")
    if parser.parse_args().tree:
        print_tree(PLUGIN, 0, set())
        return
    print_totals()
    print()
    print_dependencies()


if __name__ == "__main__":
    main()
