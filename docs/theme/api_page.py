"""Write the page of the public API, from the docstrings and signatures of the code."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import get_args

import scrapy_neardup
from scrapy_neardup import signals

GROUPS = {
    "What Scrapy loads": (
        "Addon NearDupSpiderMiddleware NearDupDownloaderMiddleware NearDupPipeline CapturePipeline NearDuplicate "
        "NearDupItem NearDupFields"
    ),
    "Judging documents in any program": "NearDupDetector NearDupSettings",
    "Documents and verdicts": "Document Fingerprint Verdict Status Kind Reason",
    "Stories and events": "StoryEvent Story Member Extent Level",
    "What you may write yourself": "Rule Extractor",
    "Errors": "NearDupError SettingsError StoreError StoreUnavailable",
}
CALLED_BY_SCRAPY = set(GROUPS["What Scrapy loads"].split())
LONGEST_LINE = 100


def page() -> str:
    """Return the page without its first paragraph. Raise ValueError if it lacks a public name."""
    if missing := set(scrapy_neardup.__all__) - {name for names in GROUPS.values() for name in names.split()}:
        raise ValueError(f"docs/theme/api_page.py: no group has {sorted(missing)}")
    return "\n".join([*_groups(), *_signals()])


def _groups() -> Iterator[str]:
    for title, names in GROUPS.items():
        yield f"## {title}\n"
        for name in names.split():
            yield from _entry(name, getattr(scrapy_neardup, name))


def _entry(name: str, found: object) -> Iterator[str]:
    yield f"### {name}\n"
    if not inspect.isclass(found):
        values = ", ".join(f'`"{value}"`' for value in get_args(found) if isinstance(value, str))
        yield (
            f"One of {values}.\n"
            if values
            else "A callable `(html: str, url: str) -> str`: the main content of a page.\n"
        )
        return
    if name == "NearDupSettings":
        yield "```python\nNearDupSettings(*, action='tag', ...)\n```\n"
    elif name == "Rule":
        yield f"```python\n{_signature('rule', found.__call__)}\n```\n"
    elif name not in CALLED_BY_SCRAPY and not issubclass(found, Exception):
        yield f"```python\n{_signature(name, found)}\n```\n"
    yield f"{_first_paragraph(found)}\n"
    if name not in CALLED_BY_SCRAPY:
        members = list(_members(found))
        yield from [*members, ""] if members else []


def _members(found: type) -> Iterator[str]:
    for name, value in vars(found).items():
        if name.startswith("_") or (found is scrapy_neardup.NearDupSettings and name != "from_mapping"):
            continue
        if isinstance(value, property):
            yield f"- `{name}`: {_first_paragraph(value)}"
        elif callable(value := getattr(value, "__func__", value)) and inspect.isfunction(value):
            wait = "await " if inspect.iscoroutinefunction(value) else ""
            yield f"- `{wait}{_signature(name, value, on_one_line=True)}`: {_first_paragraph(value)}"


def _signals() -> Iterator[str]:
    yield "## Signals\n"
    yield "Import them with `from scrapy_neardup import signals`; handlers may be coroutines.\n"
    source = inspect.getsource(signals)
    for name in (name for name in vars(signals) if f"\n{name} = object()" in source):
        docstring = source.split(f'\n{name} = object()\n"""')[1].split('"""')[0]
        yield f"- `{name}`: {_in_markdown(docstring)}"
    yield ""


def _signature(name: str, found: object, *, on_one_line: bool = False) -> str:
    signature = inspect.signature(found)  # type: ignore[arg-type]
    parts, has_star = [], False
    for parameter in signature.parameters.values():
        if parameter.name in ("self", "cls"):
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not has_star:
            parts, has_star = [*parts, "*"], True
        parts.append(_parameter(parameter))
    returned = signature.return_annotation
    ending = ")" if returned is signature.empty or inspect.isclass(found) else f") -> {_annotation(returned)}"
    line = f"{name}({', '.join(parts)}{ending}"
    if on_one_line or len(line) <= LONGEST_LINE:
        return line
    return f"{name}(\n" + "".join(f"    {part},\n" for part in parts) + ending


def _parameter(parameter: inspect.Parameter) -> str:
    annotation = _annotation(parameter.annotation)
    if parameter.default is parameter.empty:
        return f"{parameter.name}: {annotation}"
    default = parameter.default
    shown = getattr(default, "__name__", "...") if callable(default) or "<" in repr(default) else repr(default)
    return f"{parameter.name}: {annotation} = {shown}"


def _annotation(annotation: object) -> str:
    name = getattr(annotation, "__forward_arg__", annotation)  # of a NamedTuple
    return name if isinstance(name, str) else re.sub(r"\b[a-z_.]+\.", "", inspect.formatannotation(name))


def _first_paragraph(found: object) -> str:
    return _in_markdown((inspect.getdoc(found) or "").partition("\n\n")[0])


def _in_markdown(text: str) -> str:
    return " ".join(text.replace("``", "`").split())
