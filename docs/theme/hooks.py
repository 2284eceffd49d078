"""Draw the Mermaid blocks of the pages as SVG while the site is built, so that the site needs no network.

Also write llms.txt (a list of the pages for language models), the public API and the keys of a report, and keep the
pages of decisions out of the search: they answer questions about the code, not about its use. The page of questions
comes first in the search. The link to the repository is where the sources were cloned from.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

from mkdocs.exceptions import ConfigurationError

try:
    import mermaidx  # type: ignore[import-untyped]
    from reference import with_built_parts
    from schema_page import table
except ModuleNotFoundError as error:
    advice = "pip install mermaidx && pip install -e . in the root of the repository"
    raise ConfigurationError(f"The site cannot be built without {error.name}: {advice}") from error

SETTING = re.compile("^### (NEARDUP_)(\\w+)$", re.MULTILINE)
BLOCK = re.compile("^```mermaid\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PROSE = re.compile(r"^(?!```)[A-Z`\[][^|\n]{20,}(?:\n[^\n]+)*", re.MULTILINE)  # a paragraph
LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
LISTED: dict[str, list[str]] = {}  # lines of llms.txt, by section
REMOTE = re.compile(r"(?:https?://(?:[^@/]*@)?|ssh://git@|git@)([\w.-]+)[:/](.+?)(?:\.git)?/?")  # without passwords


def on_config(config: Any, **_: Any) -> Any:
    command = ["git", "-C", str(Path(__file__).parent), "remote", "get-url", "origin"]
    remote = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    if not config.repo_url and (found := REMOTE.fullmatch(remote)):
        config.repo_url, config.repo_name = f"https://{found[1]}/{found[2]}", "Repository"
    return config


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    if page.file.src_uri.startswith("decisions/"):
        page.meta["search"] = {"exclude": True}
    if page.file.src_uri == "faq.md":
        page.meta["search"] = {"boost": 10}  # a question is answered there before other pages that have its words
    markdown = SETTING.sub(r'### \1\2 { data-toc-label="\2" }', with_built_parts(markdown))
    if page.file.src_uri == "event-report.md":
        markdown += "\n" + table()
    return BLOCK.sub(lambda block: f'<div class="picture">{_svg(block[1])}</div>', markdown)


def on_env(env: Any, files: Any, **_: Any) -> Any:
    """Note title, address and first sentence of each page, for llms.txt. See https://llmstxt.org."""
    LISTED.clear()
    for page in (file.page for file in files.documentation_pages()):
        first = PROSE.search(page.markdown)
        told = " ".join(LINK.sub(r"\1", first[0]).split()).partition(". ")[0].rstrip(".:") if first else ""
        section = page.parent.title if page.parent else "Optional"
        LISTED.setdefault(section, []).append(f"- [{page.title}]({page.url})" + (f": {told}" if told else ""))
    return env


def on_post_build(config: Any, **_: Any) -> None:
    sections = sorted(LISTED, key=lambda section: section == "Optional")
    parts = [f"## {section}\n\n" + "\n".join(LISTED[section]) for section in sections]
    text = "\n\n".join((f"# {config.site_name}\n\n> {config.site_description}", *parts))
    Path(config.site_dir, "llms.txt").write_text(f"{text}\n", encoding="utf-8")


def _svg(source: str) -> str:
    svg: str = mermaidx.render(source).svg()
    # An empty line would end the HTML block.
    return re.sub(r"\n\s*\n", "\n", svg)
