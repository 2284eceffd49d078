"""Output of commands that is safe for a terminal, whatever titles, urls and file names contain."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

# Control characters but for line feed and tabulator, those that turn the direction of writing, and lone surrogates.
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]")


def printable(text: str) -> str:
    """Return the text with a replacement character for each character that a terminal might obey."""
    return _UNSAFE.sub("\ufffd", text)


def as_json(value: object) -> str:
    """Return JSON on one line that is safe for a terminal."""
    return escaped(json.dumps(value, ensure_ascii=False))


def escaped(line: str) -> str:
    """Return a line of JSON in which unsafe characters are escapes."""
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", line)


def make_console(**options: Any) -> Console:
    """Return a console that shows strings as they are, without styles, emoji or control characters."""
    from rich.console import Console

    class PlainConsole(Console):
        def render_str(self, text: str, **styles: Any) -> Text:
            return super().render_str(printable(text), **{**styles, "markup": False, "emoji": False})

    return PlainConsole(**options)
