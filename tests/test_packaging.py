"""The packages have what users need, and the files about the project agree with each other."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import release
import scrapy_neardup

ROOT = Path(__file__).parents[1]
PROJECT = (ROOT / "pyproject.toml").read_text("utf-8")
VERSION = scrapy_neardup.__version__


def extras() -> set[str]:
    table = PROJECT.partition("[project.optional-dependencies]\n")[2].partition("\n[")[0]
    return set(re.findall(r"^([a-z]+) = ", table, re.MULTILINE))


def build(folder: Path, modified: int, mode: int) -> list[Path]:
    """Build sdist and wheel from a copy of the sources, whose files have this time and these rights."""
    sources, packages = folder / "sources", folder / "dist"
    shutil.copytree(ROOT / "scrapy_neardup", sources / "scrapy_neardup", ignore=shutil.ignore_patterns("__pycache__"))
    for path in (path for path in ROOT.iterdir() if path.is_file()):
        shutil.copy(path, sources)
    for path in sources.rglob("*"):
        if path.is_file():
            path.chmod(mode)
        os.utime(path, (modified, modified))
    packages.mkdir()
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment["SOURCE_DATE_EPOCH"] = "1700000000"
    sdist, wheel = (packages / f"scrapy_neardup-{VERSION}{end}" for end in (".tar.gz", "-py3-none-any.whl"))
    for kind in ("sdist", "wheel"):  # from the sdist, as ``python -m build`` does with five processes of Python
        code = f"import sys; from setuptools import build_meta; build_meta.build_{kind}(sys.argv[1])"
        subprocess.run([sys.executable, "-c", code, str(packages)], cwd=sources, env=environment, check=True)
        shutil.unpack_archive(sdist, folder)
        sources = folder / f"scrapy_neardup-{VERSION}"
    return [sdist, wheel]


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return build(tmp_path_factory.mktemp("one"), 1_700_000_000, 0o644)


def modules() -> set[str]:
    """Return the names of all files in the package."""
    files = (path for path in (ROOT / "scrapy_neardup").rglob("*") if path.is_file() and path.suffix != ".pyc")
    return {str(path.relative_to(ROOT)) for path in files}


@pytest.mark.slow
def test_two_builds_have_the_same_bytes(packages: list[Path], tmp_path: Path) -> None:
    for one, two in zip(packages, build(tmp_path, 1_750_000_000, 0o600), strict=True):
        assert one.name == two.name
        assert hashlib.sha256(one.read_bytes()).hexdigest() == hashlib.sha256(two.read_bytes()).hexdigest()


def test_the_sdist_has_the_package_and_the_files_about_it(packages: list[Path]) -> None:
    with tarfile.open(packages[0]) as sdist:
        files = {member.name.partition("/")[2] for member in sdist.getmembers() if member.isfile()}
    about = {"CHANGELOG.md", "CITATION.cff", "LICENSE", "PKG-INFO", "README.md"}
    builds = {"MANIFEST.in", "pyproject.toml", "setup.cfg", "setup.py"}
    assert {file for file in files if ".egg-info/" not in file} == modules() | about | builds


def test_the_wheel_has_the_package_and_its_metadata(packages: list[Path]) -> None:
    with zipfile.ZipFile(packages[1]) as wheel:
        names, folder = set(wheel.namelist()), f"scrapy_neardup-{VERSION}.dist-info/"
        metadata = wheel.read(f"{folder}METADATA").decode()
        commands = wheel.read(f"{folder}entry_points.txt").decode()
    assert {name for name in names if not name.startswith(folder)} == modules()
    assert {"scrapy_neardup/py.typed", "scrapy_neardup/index/redis/commit.lua"} <= names
    vendored = {path for path in modules() if path.endswith(".LICENSE")}
    licences = {name.removeprefix(f"{folder}licenses/") for name in names if name.startswith(f"{folder}licenses/")}
    assert licences == {"LICENSE"} | vendored
    assert f"\nVersion: {VERSION}\n" in metadata
    assert set(re.findall("^Provides-Extra: (.+)$", metadata, re.MULTILINE)) == extras()
    assert "[scrapy.commands]\nneardup=scrapy_neardup.tools.commands:Command" in commands.replace(" ", "")


def test_every_dependency_and_every_extra_says_what_it_is_for() -> None:
    page = (ROOT / "docs/dependencies.md").read_text("utf-8")
    reasons = page.partition("\n## Why")[2].partition("\nThe next table")[0]
    names = re.findall(r"^\| ([\w, -]+) \|", reasons, re.MULTILINE)
    explained = set(", ".join(names).split(", ")) - {"dependency"}
    (listed,) = re.findall(r"^dependencies = \[(.*?)^\]", PROJECT, re.MULTILINE | re.DOTALL)
    assert explained == set(re.findall(r'^    "([\w-]+)>=', listed, re.MULTILINE))
    assert {extra for extra in extras() if f"`[{extra}]`" in page} == extras()


def test_the_release_tries_every_extra_of_the_plugin() -> None:
    assert set(release.EXTRAS) == extras() - {"example"}  # the first crawl of the README needs that one


NEWEST_ALONE = {"alerts", "example", "hiredis", "mcp", "report"}  # extras that are tested with their newest versions
NOT_PINNED = {"numpy", "python-dateutil"}  # the oldest has no wheel for every Python; the other is needed by others too


def test_the_floors_are_the_versions_that_are_tested() -> None:
    (dependencies,) = re.findall(r"^dependencies = \[(.*?)^\]", PROJECT, re.MULTILINE | re.DOTALL)
    floors = dict(re.findall(r'^    "([\w-]+)>=([\d.]+)[;"]', dependencies, re.MULTILINE))
    for extra in extras() - NEWEST_ALONE:
        floors |= re.findall(r'"([\w-]+)>=([\d.]+)"', re.findall(f"^{extra} = (.+)$", PROJECT, re.MULTILINE)[0])
    oldest = dict(re.findall(r"^([\w-]+)==(.+)$", (ROOT / "tests/oldest.txt").read_text("utf-8"), re.MULTILINE))
    assert {name: floor for name, floor in floors.items() if name not in NOT_PINNED} == oldest
