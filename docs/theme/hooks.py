"""Draw the Mermaid blocks of the pages as SVG while the site is built, so that the site needs no network.

Also write the table of the keys of an event's report, and keep the decision records out of the search: they answer
questions about the code, not about its use.
"""

from __future__ import annotations

import re
from typing import Any

import mermaidx  # type: ignore[import-untyped]
from schema_page import table

BLOCK = re.compile("^```mermaid\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    if page.file.src_uri.startswith("decisions/"):
        page.meta["search"] = {"exclude": True}
    if page.file.src_uri == "event-report.md":
        markdown += "\n" + table()
    return BLOCK.sub(lambda block: f'<div class="picture">{_svg(block[1])}</div>', markdown)


def _svg(source: str) -> str:
    svg: str = mermaidx.render(source).svg()
    # An empty line would end the HTML block.
    return re.sub(r"\n\s*\n", "\n", svg)
