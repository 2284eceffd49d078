"""A window belongs to one version of the extractor: a page that another version reads would look changed."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest
from news_site import NewsSite, article, page
from projects import ITEM_A_PAGE, Project

from scrapy_neardup import NearDupDetector, NearDupSettings
from scrapy_neardup.content.extractors import extractor_identity, load_extractor
from scrapy_neardup.exceptions import SettingsError


def install(folder: Path, name: str, version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a distribution known as pip does."""
    metadata = folder / f"{name}-{version}.dist-info" / "METADATA"
    metadata.parent.mkdir()
    metadata.write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    monkeypatch.syspath_prepend(folder)


def config(extractor: str | None) -> str:
    settings = NearDupSettings.from_mapping({"NEARDUP_STORE": "memory://", "NEARDUP_EXTRACTOR": extractor})
    return NearDupDetector(settings).index.layout.config


def test_another_extractor_or_version_begins_a_window(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = {name: config(name) for name in ("trafilatura", "resiliparse", "news.extract", "news.other", None)}
    install(tmp_path, "trafilatura", "99.1.0", monkeypatch)
    assert len({*before.values()}) == 5
    assert config("trafilatura") != before.pop("trafilatura")
    assert {name: config(name) for name in before} == before


async def _statuses(store: str) -> list[str]:
    statuses = []
    detector = NearDupDetector(NearDupSettings(store=store))
    await detector.open()
    for number in range(2):
        document = detector.document(article("seen"), url=f"https://www.paper{number}.example/")
        statuses.append((await detector.check(document)).status)
    await detector.close()
    return statuses


def test_after_an_upgrade_the_window_is_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = f"sqlite:///{tmp_path}/window.sqlite"
    assert asyncio.run(_statuses(store)) == ["original", "duplicate"]
    assert asyncio.run(_statuses(store)) == ["duplicate", "duplicate"]
    install(tmp_path, "trafilatura", "99.1.0", monkeypatch)
    assert asyncio.run(_statuses(store)) == ["original", "duplicate"]


def test_an_extractor_that_is_not_installed_has_no_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [])
    assert extractor_identity("resiliparse") == "resiliparse"


def test_an_old_resiliparse_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("resiliparse")
    install(tmp_path, "resiliparse", "0.16.0", monkeypatch)
    with pytest.raises(SettingsError, match=r"version 0.16.0 is too old; pip install 'resiliparse>=2'"):
        load_extractor("resiliparse")


def test_without_an_extractor_only_items_with_a_text_are_judged(project: Project, site: NewsSite) -> None:
    text = article("own text")
    urls = [site.publish(f"/{name}", page(article(name))) for name in ("own", "none")]
    spider = ITEM_A_PAGE.replace(
        'yield {"page": response.url',
        f'yield {{"text": {text!r} if "own" in response.url else "", "page": response.url',
    )
    crawl = project.crawl(spider, urls=urls, NEARDUP_EXTRACTOR=None)
    found = {item["page"].rpartition("/")[2]: (item["neardup_status"], item["neardup_reason"]) for item in crawl.items}
    assert found == {"own": ("original", None), "none": ("unchecked", "no-text")}


def test_a_bundle_without_metadata_has_trafilatura(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [])
    load_extractor("trafilatura")


def test_a_resiliparse_that_cannot_be_imported_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("resiliparse")
    monkeypatch.setitem(sys.modules, "resiliparse.extract.html2text", None)
    with pytest.raises(SettingsError, match="pip install 'resiliparse>=2'"):
        load_extractor("resiliparse")
