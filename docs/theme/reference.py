"""Write the reference of settings, stats, hints and options into the pages, from the code.

``python docs/theme/reference.py`` writes it again; a test fails if a page has not what it writes. The public API is
written while the site is built.
"""

from __future__ import annotations

import argparse
import inspect
import re
from dataclasses import MISSING, fields
from pathlib import Path
from textwrap import wrap

import api_page

from scrapy_neardup import settings as settings_module
from scrapy_neardup.crawl.announcer import HINTS, STATS
from scrapy_neardup.settings import PREFIX, NearDupSettings
from scrapy_neardup.tools import commands

DOCS = Path(__file__).parents[1]
PAGES = ("settings.md", "commands.md")
PLACE = re.compile(
    r"^(<!-- from the code: (settings|options|stats|hints)(?: ([\w, ]+))? -->\n)(?:.*?)(^<!-- end -->)$",
    re.MULTILINE | re.DOTALL,
)
"""A part of a page that is written from the code."""
BUILT = re.compile(r"^\*The site shows the API here\b.*\*$", re.MULTILINE)
"""The line of a page that is replaced while the site is built. On GitHub it says where the text is."""


def with_reference(markdown: str) -> str:
    """Return a page with the reference in its places."""
    return PLACE.sub(lambda place: f"{place[1]}{_written(place[2], place[3] or '')}\n{place[4]}", markdown)


def with_built_parts(markdown: str) -> str:
    """Return a page of the site with the parts that its source lacks."""
    return BUILT.sub(lambda _: api_page.page(), markdown)


def missing(pages: str) -> list[str]:
    """Return the settings and subcommands that have no place in these pages."""
    shown = {name for place in PLACE.finditer(pages) for name in (place[3] or "").split(", ")}
    wanted = {each.name.upper() for each in fields(NearDupSettings)} | set(commands.SUBCOMMANDS)
    return sorted(wanted - shown)


def _written(kind: str, names: str) -> str:
    if kind == "settings":
        return settings(names.split(", "))
    if kind == "options":
        return options(names)
    return {"stats": stats, "hints": hints}[kind]()


def settings(names: list[str]) -> str:
    """Return the entries of settings, folded under a line with their names."""
    folded = ", ".join(f"<code>{name}</code>" for name in names)
    entries = "\n".join(_setting(name) for name in names)
    return f'<details markdown="1">\n<summary>{folded}</summary>\n\n{entries}\n</details>'


def _setting(name: str) -> str:
    (found,) = [each for each in fields(NearDupSettings) if each.name.upper() == name]
    default = found.default if found.default is not MISSING else found.default_factory()  # type: ignore[misc]
    if isinstance(default, tuple | frozenset):
        default = list(default)  # as people write it
    allowed = f" {_allowed(found.metadata['check'])}."
    shown = f"`{default!r}`"
    if isinstance(default, bool):
        allowed = ""  # the default shows that it is True or False
    elif name in ("EVENTS_LEVELS", "EVENTS_SECTIONS"):
        shown = "all"  # what is allowed lists them
    return (
        f"### {PREFIX}{name}\n\nDefault: {shown}.{allowed}\n\n{_linked(inspect.cleandoc(found.metadata['meaning']))}\n"
    )


def _allowed(check: settings_module.checks.Check) -> str:
    """Return what the check of a setting says of a value that is never right."""
    try:
        check(object())
    except ValueError as error:
        allowed = str(error)
    return re.sub(r"^.*?(?:^|; )must ", "Must ", allowed) if "must" in allowed else "Names a store"


def _linked(text: str) -> str:
    """Return a text of the code in Markdown. Names of settings and of pages become links."""
    text = text.replace("``", "`")
    text = re.sub(rf"`({PREFIX}\w+)`", lambda name: f"[`{name[1]}`](settings.md#{name[1].lower()})", text)
    return re.sub(r"docs/([\w/-]+\.md)(#[\w-]+)?", lambda page: f"[{_title(page[1])}]({page[1]}{page[2] or ''})", text)


def _title(page: str) -> str:
    return (DOCS / page).read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")


def stats() -> str:
    """Return the list of stats."""
    rows = [f"- `{name}`: {_linked(meaning)}" for name, meaning in STATS.items()]
    return "\n".join(["Their names begin with `neardup/`.", "", *rows])


def hints() -> str:
    """Return the names of the hints at the end of a crawl."""
    return "\n".join(wrap(f"The names are {', '.join(f'`{name}`' for name in HINTS)}.", 120, break_on_hyphens=False))


def options(subcommand: str) -> str:
    """Return the usage and the options of a subcommand, with an example."""
    parser = argparse.ArgumentParser(prog=f"scrapy neardup {subcommand}", add_help=False)
    commands.add_arguments(parser, subcommand)
    rows = [f"- {_spelling(each)}: {_help(each)}" for each in parser._actions if not _is_common(each)]
    example = f"```sh\nscrapy neardup {subcommand} {commands.SUBCOMMANDS[subcommand][1]}\n```"
    listed = "\n".join(rows)
    return f'{example}\n\n<details markdown="1">\n<summary>Options</summary>\n\n{listed}\n\n</details>'


def _is_common(action: argparse.Action) -> bool:
    """Return whether the beginning of the page explains this option for all commands."""
    return (action.help or "").endswith("of the project)")


def _spelling(action: argparse.Action) -> str:
    name = action.metavar or "|".join(map(str, action.choices or [])) or action.dest.upper()
    if not action.option_strings:
        return f"`{name}`"
    spelled = ", ".join(action.option_strings)
    return f"`{spelled}`" if action.nargs == 0 else f"`{spelled} {name}`"


def _help(action: argparse.Action) -> str:
    return _linked(action.help or "").replace("<", "&lt;")


if __name__ == "__main__":
    for path in (DOCS / name for name in PAGES):
        path.write_text(with_reference(path.read_text(encoding="utf-8")), encoding="utf-8")
