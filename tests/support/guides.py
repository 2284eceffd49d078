"""The blocks of code in the pages of docs/, and crawls with them."""

import re
from pathlib import Path
from typing import Any

from news_site import NewsSite
from projects import Crawl, Project

ROOT = Path(__file__).parents[2]
GUIDES = ROOT / "docs/howto"
BLOCK = re.compile(r'^```(\w*)(?: title="([^"]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)
SITE = "https://www.harbour-courier.example"


def blocks(path: Path, language: str) -> list[tuple[str, str]]:
    """Return the titles and texts of the blocks of a page in this language."""
    return [(title, text) for kind, title, text in BLOCK.findall(path.read_text(encoding="utf-8")) if kind == language]


def block(guide: str, title: str) -> str:
    (text,) = [text for other, text in blocks(GUIDES / guide, "python") if other == title]
    return text


def settings_in(text: str) -> dict[str, Any]:
    """Return the settings of a ``settings.py``."""
    values: dict[str, Any] = {}
    exec(text, values)
    return {name: value for name, value in values.items() if name.isupper()}


def settings_of(guide: str) -> dict[str, Any]:
    """Return those of the first ``settings.py`` of a guide. It may have none."""
    texts = [text for title, text in blocks(GUIDES / guide, "python") if title == "settings.py"]
    return settings_in(texts[0]) if texts else {}


def crawl_guide(project: Project, site: NewsSite, guide: str, spider: str, **settings: Any) -> Crawl:
    """Crawl with the spider of a guide, with this site in place of the invented one."""
    project.prepare("", settings)
    text = block(guide, f"news/spiders/{spider}.py").replace(SITE, site.url).replace('"harbour-courier.example"', '""')
    project.write(f"news/spiders/{spider}.py", text)
    done = project.run("crawl", spider, "-O", "items.jsonl")
    return Crawl(project.folder, done.returncode, done.stdout)
