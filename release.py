"""Check that a release can be made. Print each check and its result. Nothing is uploaded.

usage: tox -e release
       python release.py [CHECK ...]        after: pip install build mypy tox twine

The checks, in this order. Without names all of them run:

  tree       every change is committed
  version    changelog and citation name the version; the tag of the version, if there is one, is on this commit
  tests      tox: style, types, docs, packages, all tests
  packages   two builds of this commit, in two places, have the same bytes; an index would take them
  pythons    with every Python there is, the wheel installs in a fresh environment, and the README's first crawl works
  extras     each extra installs what it is for
  types      mypy --strict of a small project that uses the wheel
  cost       a crawl takes no more CPU time than with the last release: benchmarks/crawl_cost.py

A failed check does not stop the others. The exit status is 1 if one failed.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parent
OLDEST = (3, 10)
EXTRAS = {
    "alerts": "apprise",
    "cluster": "distributed",
    "fast": "resiliparse",
    "hiredis": "hiredis",
    "mcp": "mcp",
    "report": "jinja2",
}


class CheckFailed(Exception):
    """What is wrong, and what to do."""


class Release:
    """One commit, the packages built from it, and the environments to try them in."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        source = (ROOT / "scrapy_neardup/__init__.py").read_text(encoding="utf-8")
        self.version = re.findall(r'^__version__ = "(.+)"$', source, re.MULTILINE)[0]

    def unpack(self, folder: Path) -> Path:
        """Make a fresh copy of the commit. Its files are as old as this run: times must not matter."""
        copy = folder / "copy"
        with tarfile.open(fileobj=io.BytesIO(run("git", "archive", "--format=tar", "HEAD", cwd=ROOT))) as files:
            files.extractall(copy, filter="data")
        for path in copy.rglob("*"):
            os.utime(path)
        return copy

    def build(self, sources: Path) -> list[Path]:
        """Build the sdist of a copy, and from the sdist the wheel."""
        packages = sources.parent / "dist"
        committed = run("git", "show", "--no-patch", "--format=%ct", "HEAD", cwd=ROOT).decode().strip()
        command = (sys.executable, "-m", "build", "--outdir", str(packages))
        run(*command, cwd=sources, environment={"SOURCE_DATE_EPOCH": committed})
        return sorted(packages.iterdir())

    @cached_property
    def sources(self) -> Path:
        return self.unpack(self.folder / "one")

    @cached_property
    def packages(self) -> list[Path]:
        """Wheel and sdist of the commit."""
        return self.build(self.sources)

    @cached_property
    def environment(self) -> Path:
        """The folder of programs of a fresh environment with the wheel, for the Python that runs this script."""
        return self.make_environment("environment", Path(sys.executable))

    def make_environment(self, name: str, python: Path) -> Path:
        run(str(python), "-m", "venv", str(self.folder / name))
        self.install(self.folder / name / "bin")
        return self.folder / name / "bin"

    def install(self, programs: Path, extra: str = "") -> None:
        (wheel,) = (path for path in self.packages if path.suffix == ".whl")
        run(str(programs / "pip"), "install", "-q", f"{wheel}[{extra}]" if extra else str(wheel))
        run(str(programs / "pip"), "check")


def run(*command: str, cwd: Path | None = None, environment: dict[str, str] | None = None) -> bytes:
    """Run a command and return its output. Raise CheckFailed if it fails."""
    say("$ " + " ".join(command))
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    done = subprocess.run(command, cwd=cwd, env=inherited | (environment or {}), capture_output=True)
    if done.returncode:
        raise CheckFailed((done.stdout + done.stderr).decode(errors="replace").strip() or f"status {done.returncode}")
    return done.stdout


def say(line: str) -> None:
    print(f"    {line}", flush=True)


def check_tree(release: Release) -> None:
    changed = run("git", "status", "--porcelain", cwd=ROOT).decode()
    if changed:
        raise CheckFailed(f"commit or remove these files first:\n{changed}")


def check_version(release: Release) -> None:
    version, wrong = release.version, []
    heading = rf"^## \[?{re.escape(version)}\]? - \d{{4}}-\d\d-\d\d$"
    if not re.search(heading, (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE):
        wrong.append(f"CHANGELOG.md has no heading '## {version} - YYYY-MM-DD': rename 'Unreleased'")
    if f"\nversion: {version}\n" not in (ROOT / "CITATION.cff").read_text(encoding="utf-8"):
        wrong.append(f"CITATION.cff does not say 'version: {version}'")
    tagged = run("git", "tag", "--list", f"v{version}", cwd=ROOT).decode().split()
    if tagged and f"v{version}" not in run("git", "tag", "--points-at", "HEAD", cwd=ROOT).decode().split():
        wrong.append(f"the tag v{version} is on another commit: raise __version__ in scrapy_neardup/__init__.py")
    if wrong:
        raise CheckFailed("\n".join(wrong))
    say(f"version {version}, {'tagged' if tagged else 'not tagged yet'}")


def check_tests(release: Release) -> None:
    run(sys.executable, "-m", "tox", "run", cwd=ROOT)


def check_packages(release: Release) -> None:
    one, two = release.packages, release.build(release.unpack(release.folder / "two"))
    for path, again in zip(one, two, strict=True):
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        if path.name != again.name or digest != hashlib.sha256(again.read_bytes()).hexdigest():
            raise CheckFailed(f"two builds differ: compare {path} with {again}")
        say(f"{digest}  {path.name}, {path.stat().st_size:,} bytes")
    run(sys.executable, "-m", "twine", "check", "--strict", *map(str, one))


def pythons() -> dict[tuple[int, int], Path]:
    """Return one program for each supported version of Python, from PATH and from pyenv."""
    folders = sorted(Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")).glob("versions/3.*/bin"))
    names = [f"python3.{minor}" for minor in range(OLDEST[1], 30)]
    found = [str(folder / "python3") for folder in folders] + list(filter(None, map(shutil.which, names)))
    programs: dict[tuple[int, int], Path] = {}
    for program in [*found, sys.executable]:
        ask = "import sys; print(*sys.version_info[:2])"
        done = subprocess.run([program, "-c", ask], capture_output=True, text=True)
        version = tuple(map(int, done.stdout.split()))
        if done.returncode == 0 and len(version) == 2 and version >= OLDEST:  # a shim of pyenv may lead nowhere
            programs.setdefault((version[0], version[1]), Path(program))
    return dict(sorted(programs.items()))


def check_pythons(release: Release) -> None:
    classifiers = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    promised = {(3, int(minor)) for minor in re.findall(r'"Programming Language :: Python :: 3\.(\d+)"', classifiers)}
    there = pythons()
    for version, python in there.items():
        name = "python{}.{}".format(*version)
        programs = release.make_environment(name, python)
        release.install(programs, "example")
        project = release.folder / f"{name}-project"
        shutil.copytree(release.sources / "example_project", project)
        run(str(programs / "scrapy"), "crawl", "newswire", "-O", "items.jsonl", cwd=project)
        checked = run(str(programs / "python"), "check_truth.py", "items.jsonl", cwd=project)
        say(checked.decode().strip().splitlines()[-1])
    if missing := promised - set(there):
        raise CheckFailed(f"not on this machine, so not tried: {', '.join(f'{a}.{b}' for a, b in sorted(missing))}")
    if extra := set(there) - promised:
        say(f"works too, but pyproject.toml does not say so: {', '.join(f'{a}.{b}' for a, b in sorted(extra))}")


def check_extras(release: Release) -> None:
    python = str(release.environment / "python")
    for extra, module in EXTRAS.items():
        run(python, "-c", f"import importlib.util, sys; sys.exit(importlib.util.find_spec({module!r}) is not None)")
        release.install(release.environment, extra)
        run(python, "-c", f"import {module}")


def check_types(release: Release) -> None:
    run(str(release.environment / "pip"), "install", "-q", "mypy")
    project = release.folder / "typed_project"
    shutil.copytree(release.sources / "tests/typed_project", project)
    say(run(str(release.environment / "mypy"), "--strict", "--config-file=", ".", cwd=project).decode().strip())


def check_cost(release: Release) -> None:
    table = run(sys.executable, "-m", "tox", "run", "-e", "cost", cwd=ROOT).decode()
    for line in table.splitlines():
        if line.startswith(("|", "The plugin")):
            say(line)


CHECKS: dict[str, Callable[[Release], None]] = {
    "tree": check_tree,
    "version": check_version,
    "tests": check_tests,
    "packages": check_packages,
    "pythons": check_pythons,
    "extras": check_extras,
    "types": check_types,
    "cost": check_cost,
}


def main() -> int:
    plain = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=plain, usage=argparse.SUPPRESS)
    parser.add_argument("checks", nargs="*", metavar="CHECK")
    chosen = parser.parse_args().checks or list(CHECKS)
    if unknown := set(chosen) - set(CHECKS):
        parser.error(f"no such check: {', '.join(unknown)}. There are {', '.join(CHECKS)}")
    failed = []
    with TemporaryDirectory(prefix="release-") as folder:
        release = Release(Path(folder))
        for name in (each for each in CHECKS if each in chosen):
            print(f"{name}:", flush=True)
            started = time.monotonic()
            try:
                CHECKS[name](release)
            except CheckFailed as error:
                failed.append(name)
                say("FAILED: " + str(error).replace("\n", "\n    "))
            else:
                say(f"ok, {time.monotonic() - started:.0f} s")
    if failed:
        print(f"Not ready: {', '.join(failed)}.")
        return 1
    if len(chosen) < len(CHECKS):
        print(f"These checks passed: {', '.join(chosen)}. A release needs all of them.")
        return 0
    print(f"Ready. Nothing was uploaded. These commands, typed by a person, make the release {release.version}:")
    say(f"git tag v{release.version} && git push origin v{release.version}")
    say("SOURCE_DATE_EPOCH=$(git show --no-patch --format=%ct HEAD) python -m build")
    # The folder may hold files of earlier versions.
    say(f"twine upload dist/scrapy_neardup-{release.version}*")
    return 0


if __name__ == "__main__":
    sys.exit(main())
