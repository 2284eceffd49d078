"""The language that a page says it is in."""

from __future__ import annotations

import re

_HEAD = 20_000  # characters or bytes looked at
_CODE = re.compile(r"\s*([a-z]{2,3})\s*(?:$|[-_,;])", re.IGNORECASE | re.ASCII)
_TAG = re.compile(r"<!--.*?-->|<(html|meta)\b([^<>]{0,2000})>", re.IGNORECASE | re.DOTALL)
_ATTRIBUTE = re.compile(r"""([\w:-]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""")
_META = ("og:locale", "content-language")
_NONE = ("und", "mul", "zxx", "mis")  # ISO 639 for no one language


def page_language(html: str | bytes) -> str:
    """ISO 639 code by ``<html lang>``, else by the meta elements og:locale or Content-Language; "" of none."""
    head = html[:_HEAD] if isinstance(html, str) else html[:_HEAD].decode("latin-1")
    by_meta = ""
    for tag in _TAG.finditer(head):
        given = {name.lower(): one or two or three for name, one, two, three in _ATTRIBUTE.findall(tag[2] or "")}
        if (tag[1] or "").lower() == "html":
            language = language_code(given.get("lang") or given.get("xml:lang") or "")
            if language:
                return language
        elif (given.get("property") or given.get("http-equiv") or "").lower() in _META:
            by_meta = by_meta or language_code(given.get("content") or "")
    return by_meta


def language_code(tag: str) -> str:
    """The ISO 639 code that a language tag such as "pt-BR" or "en_US" begins with; "" where it is none."""
    found = _CODE.match(tag)
    code = found[1].lower() if found else ""
    return "" if code in _NONE else code
