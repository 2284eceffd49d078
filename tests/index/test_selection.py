"""Which texts of an event name a publisher that is purged."""

from __future__ import annotations

import pytest

from scrapy_neardup.detector import select


@pytest.mark.parametrize(
    "name",
    [
        "bbc.co.uk",
        "www.bbc.co.uk",
        "BBC.co.uk",
        "bbc.co.uk:443",
        "https://WWW.bbc.co.uk:8080/news",
        "https://bbc.co.uk/two words",
    ],
)
def test_a_source_in_any_form_is_taken(name: str) -> None:
    assert select("bbc.co.uk", "").takes_name(name)
