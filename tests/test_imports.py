"""Who may import whom, and what is loaded when: the rules of the house."""

import ast
import json
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest
from news_site import NewsSite
from projects import ITEM_A_PAGE, Project

import scrapy_neardup

ROOT = Path(__file__).parent.parent
HEAVY = {"trafilatura", "datasketch", "scipy", "numpy", "redis", "resiliparse", "tldextract", "courlan"}


def loaded_by(code: str, printed: set[str] | None = None) -> set[str]:
    """Top-level packages in memory after ``code`` ran in an interpreter of its own. Add the words that it prints."""
    code += "\nimport json, sys\nprint(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    *words, loaded = done.stdout.splitlines()
    if printed is not None:
        printed.update(" ".join(words).split())
    return set(json.loads(loaded))


def test_the_contracts_between_the_folders_are_kept() -> None:
    pytest.importorskip("importlinter")
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as lint; lint()", "--no-cache"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert " 0 broken" in done.stdout


def test_no_module_imports_itself_in_a_circle() -> None:
    """Also not inside a folder. Imports inside functions count, and so do imports for types."""
    grimp = pytest.importorskip("grimp")
    graph = grimp.build_graph("scrapy_neardup", cache_dir=None)
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    TopologicalSorter(imports).prepare()  # raises CycleError, which names the modules of a circle


def test_the_names_of_the_core_that_tools_import_are_listed() -> None:
    """Tools use public names and a short list, so that a change of the core says what it does to tools."""
    used = set()
    for path in (ROOT / "scrapy_neardup/tools").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("scrapy_neardup"):
                used |= {f"{node.module}.{each.name}".removeprefix("scrapy_neardup.") for each in node.names}
    used = {name for name in used if not name.startswith("tools.") and name not in scrapy_neardup.__all__}
    listed = (ROOT / "tests/tools/core_names.txt").read_text(encoding="utf-8").splitlines()
    assert listed == sorted(used)


def test_settings_know_nothing_of_what_is_made_from_them() -> None:
    """Imports of imports count too: the table of settings stands near the ground."""
    grimp = pytest.importorskip("grimp")
    graph = grimp.build_graph("scrapy_neardup", cache_dir=None)
    known = {each.split(".")[1] for each in graph.find_upstream_modules("scrapy_neardup.settings", as_package=True)}
    assert known <= {"document", "evidence", "exceptions", "records", "story", "text"}


USED = """
import sys
import scrapy_neardup

loaded = {name.partition(".")[0] for name in sys.modules}
for name in ("NearDupDetector", "NearDupSettings", "Document", "Verdict", "StoreError"):
    getattr(scrapy_neardup, name)
print(*loaded)
"""


def test_the_core_loads_no_scrapy_and_the_package_alone_nothing_heavy() -> None:
    alone: set[str] = set()
    assert not {"scrapy", "twisted"} & loaded_by(USED, alone)
    assert "scrapy_neardup" in alone
    assert not HEAVY & alone
    before_the_engine = "import scrapy_neardup.addon, scrapy_neardup.middleware, scrapy_neardup.pipeline"
    assert not {*HEAVY, "itemadapter"} & loaded_by(before_the_engine)
    of_a_worker = "import sys, scrapy_neardup.content.whole_text, scrapy_neardup.sketch.text_sketch"
    loaded_by(f"{of_a_worker}\nassert not [name for name in sys.modules if 'figures' in name], 'tables of languages'")


JUDGED = """
import asyncio, sys
from scrapy_neardup import NearDupDetector, NearDupSettings

async def judge():
    detector = NearDupDetector(NearDupSettings(store="memory://"))
    await detector.open()
    await detector.prepare()
    before = set(sys.modules)
    text = "A ferry with 210 people on board ran aground off Skerrow on Tuesday evening after its steering failed " * 2
    verdict = await detector.check(detector.document(text, url="https://www.northwire.example/aground"))
    assert set(sys.modules) == before, "all is imported before the first document"
    await detector.close()
    assert verdict.status == "original"

asyncio.run(judge())
"""


THEN_DATASKETCH = """
import sys

assert "numpy.ma" not in sys.modules, "45 ms that numpy.unique needs"

used = sys.modules["datasketch.minhash"].MinHash
assert "scipy" not in sys.modules
import datasketch

assert datasketch.minhash.MinHash is datasketch.MinHash is used
from datasketch import MinHashLSH

assert datasketch.lsh.MinHashLSH is MinHashLSH
assert datasketch.__version__
"""


@pytest.mark.versions
def test_documents_are_judged_without_scipy_and_datasketch_is_there_for_others() -> None:
    loaded_by(JUDGED + THEN_DATASKETCH)


def test_every_public_name_is_there() -> None:
    for name in scrapy_neardup.__all__:
        assert getattr(scrapy_neardup, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        scrapy_neardup.Nothing  # noqa: B018


LIST = """
import sys
from scrapy.cmdline import execute

try:
    execute(["scrapy", "list"])
finally:
    print("loaded:", *sorted({name.partition(".")[0] for name in sys.modules}))
"""


COMMANDS_OF_OTHERS = """
from importlib.metadata import entry_points

for command in entry_points(group="scrapy.commands"):
    if not command.value.startswith("scrapy_neardup"):
        command.load()
"""


@pytest.mark.slow
def test_scrapy_list_pays_for_nothing_heavy(tmp_path: Path) -> None:
    """Scrapy imports the commands of every package that is installed, and some of these are heavy."""
    project = Project(tmp_path)
    project.prepare("from scrapy_neardup import NearDupItem\n\n" + ITEM_A_PAGE, {})
    done = subprocess.run([sys.executable, "-c", LIST], cwd=tmp_path, capture_output=True, text=True)
    listed, loaded = done.stdout.splitlines()
    assert listed == "news"
    assert "scrapy_neardup" in loaded.split()
    assert not HEAVY & set(loaded.split()) - loaded_by(COMMANDS_OF_OTHERS)


NOT_OF_A_CRAWL = {"apprise", "jinja2", "mcp", "redis", "resiliparse", "scipy"}
"""A crawl with SQLite and the default extractor needs none of these packages."""

LOADED = """
import sys

class News(Pages):
    def parse(self, response):
        print("loaded:", *sorted(sys.modules))
        yield scrapy.Request(response.urljoin("/article"), callback=self.article)

    def article(self, response):
        yield {"url": response.url}

    def closed(self, reason):
        print("loaded:", *sorted(sys.modules))
"""


def test_a_crawl_loads_what_it_uses_once_it_has_items_and_no_tools(tmp_path: Path) -> None:
    with NewsSite() as site:
        project = Project(tmp_path)
        project.prepare(LOADED, {"NEARDUP_STORE": "sqlite:///w.sqlite"})
        url = site.publish("/", "<p>Nothing")
        site.publish("/article", "<p>" + "Four people died in the harbour on Monday after the ferry ran aground. " * 8)
        log, _ = project.start("crawl", "news", "-a", f"urls={url}", fresh=True).communicate()
    before, loaded = [line.split()[1:] for line in log.splitlines() if line.startswith("loaded:")]
    assert not {"trafilatura", "datasketch", "scipy"} & {name.partition(".")[0] for name in before}
    # Scrapy loads the commands of all packages.
    command_line = {"scrapy_neardup.tools", "scrapy_neardup.tools.commands"}
    assert {name for name in loaded if name.startswith("scrapy_neardup.tools")} <= command_line
    assert not [name for name in loaded if name.startswith("scrapy_neardup.index.redis")]
    assert NOT_OF_A_CRAWL & {name.partition(".")[0] for name in loaded} <= loaded_by(COMMANDS_OF_OTHERS)
