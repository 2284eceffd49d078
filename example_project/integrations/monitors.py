"""Monitors of scrapy-neardup's stats, for spidermon. Copy this file into your project."""

from __future__ import annotations

from spidermon import Monitor, MonitorSuite, monitors
from spidermon.core.actions import Action

MOST_UNCHECKED = 0.1  # share of the items


@monitors.name("Verdicts")
class VerdictMonitor(Monitor):
    @monitors.name("The store answered")
    def test_store(self) -> None:
        assert self.data.stats.get("neardup/store/errors", 0) == 0

    @monitors.name("Nearly every item was judged")
    def test_unchecked(self) -> None:
        checked, unchecked = (self.data.stats.get(f"neardup/{name}", 0) for name in ("checked", "unchecked"))
        assert unchecked <= MOST_UNCHECKED * checked

    @monitors.name("The crawl ended without hints and errors")
    def test_hints(self) -> None:
        found = [name for name in self.data.stats if name.startswith(("neardup/hints/", "neardup/errors"))]
        assert not found


class NoteFailures(Action):
    """Notes which monitors failed. Replace it by an action of spidermon that sends a message."""

    failures: list[str] = []  # noqa: RUF012

    def run_action(self) -> None:
        failed = self.result.monitors_failed_results
        self.failures.extend(f"{self.data.spider.name}: {each.monitor.name}" for each in failed)


class VerdictSuite(MonitorSuite):
    monitors = [VerdictMonitor]  # noqa: RUF012
    monitors_failed_actions = [NoteFailures]  # noqa: RUF012
