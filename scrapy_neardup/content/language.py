"""Read the language that a page declares."""

from __future__ import annotations

import re

_HEAD = 20_000  # characters or bytes looked at
_CODE = re.compile(r"\s*([a-z]{2,3})\s*(?:$|[-_,;])", re.IGNORECASE | re.ASCII)
_MARK = re.compile(r"<!--|-->|<(html|meta)\b([^<>]{0,1000})", re.IGNORECASE)
_ATTRIBUTE = re.compile(
    r"""(?<!\S)(lang|xml:lang|property|http-equiv|content)\s{0,9}=\s{0,9}(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""",
    re.IGNORECASE,
)
_META = ("og:locale", "content-language")
_NONE = ("und", "mul", "zxx", "mis")  # ISO 639 for no one language


def page_language(html: str | bytes) -> str:
    """Return the ISO 639 code in ``<html lang>``, else in the meta elements og:locale or Content-Language, else "".

    This takes linear time: it runs in the event loop.
    """
    head = html[:_HEAD] if isinstance(html, str) else html[:_HEAD].decode("latin-1")
    by_meta = ""
    in_comment = False
    for mark in _MARK.finditer(head):
        if mark[1] is None:
            in_comment = mark[0] == "<!--"
        elif not in_comment:
            given = {name.lower(): one or two or three for name, one, two, three in _ATTRIBUTE.findall(mark[2])}
            if mark[1].lower() == "html":
                language = language_code(given.get("lang") or given.get("xml:lang") or "")
                if language:
                    return language
            elif (given.get("property") or given.get("http-equiv") or "").lower() in _META:
                by_meta = by_meta or language_code(given.get("content") or "")
    return by_meta


def language_code(tag: str) -> str:
    """Return the ISO 639 code at the beginning of a language tag such as "pt-BR" or "en_US", "" if there is none."""
    found = _CODE.match(tag[:40])
    code = found[1].lower() if found else ""
    return "" if code in _NONE else code
