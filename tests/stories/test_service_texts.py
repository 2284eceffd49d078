"""What each service gets: its users see the headline as it is written, and the links of the message work."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest
from services import Services

from scrapy_neardup.stories.receivers import Service

HEADLINE = "# *bold* _it_ ~~gone~~ ||spoiler|| [x](https://e.example/x) `code` #tag :smile: @everyone <!channel> ```"
LEADS = ["> a quotation", "- an item", "1. an item", "[x]: https://e.example/x", "---", "=====", "/command ```"]
LINK = "https://www.north-wire.example/fire_in_port-2.html?a=b&c=d"
# What any of the services takes for markup, a link, a mention or a command.
MARKUP = re.compile(r"[*_~`<>\\]|^([#>=|-]|\d+\.|/\w)|\|\||\][(:\[]|//|@\w|#\w|:\w+:|\s/\w")

HOSTS = {
    "discord": "discord://4174216298/JHMHI8qBe7bk2ZwO5U711o3dV",
    "googlechat": "gchat://workspace/key/token",
    "mail": "mailto://{mail}?from=wire@a.example&to=desk@a.example",
    "matrix": "matrix://user:pass@{web}/!room",
    "mattermost": "mmost://{web}/3ccdd113474722377935511fc85d3dd4",
    "ntfy": "ntfy://{web}/topic",
    "rocketchat": "rocket://" + "a" * 24 + "%2F" + "b" * 24 + "@{web}/#general?mode=webhook",
    "slack": "slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ",
    "teams": "workflows://host.example:443/643e1da0d9f245f3bfa54b1b8ef2bce4/TIiajkdnlazkcOXrIdevi7FQ",
    "telegram": "tgram://123456789:abcdefghijklmnopqrstuvwxyz/12345",
    "zulip": "zulip://bot-name@org/" + "a" * 32 + "/stream",
}


@pytest.mark.usefixtures("fast_workers")
@pytest.mark.parametrize("service", HOSTS)
async def test_a_service_gets_plain_text_and_links(
    service: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Services(tmp_path) as services:
        for name, value in services.environment.items():
            monkeypatch.setenv(name, value)
        receiver = Service(HOSTS[service].format(web=services.web, mail=services.mail))
        for lead in LEADS:
            report = {"level": "update", "headline": HEADLINE, "lead": lead, "first": {"url": LINK}, "timezone": "UTC"}
            await receiver.deliver({**report, "facts": [{"words": "12 *dead*, was 4", "is_new": True}]})
        await receiver.close()
    texts = [
        html.unescape(re.sub("<br ?/?>|</?b>", "\n", text)).replace("\xa0", " ")
        for text in services.texts
        if "spoiler" in text
    ]
    assert len(texts) >= len(LEADS)
    for text in texts:
        lines = [line for line in text.splitlines() if LINK not in line]
        assert not [line for line in lines if MARKUP.search(line.removeprefix("# Update").strip("*"))]
        assert f"Original: {LINK}" in text
        assert "everyone" in text
