"""Measure how soon, how often and how correctly events are raised in two weeks of simulated news.

usage: python benchmarks/events.py [--seeds N]

simulated_news.py says what the news is. ``stories.py --only stream`` prints which events of real pages are raised.
"""

from __future__ import annotations

import argparse
import asyncio
from collections import Counter
from statistics import mean, median

from shared import print_table
from simulated_news import BUDGET, DAYS, News, raised, simulate

RULES = {
    "count": ("count", BUDGET),
    "sources, no budget": ("sources", 1e6),
    f"sources, {BUDGET:g}": ("sources", BUDGET),
    f"sources, {BUDGET / 2:g}": ("sources", BUDGET / 2),
}
HEAD = "rule, budget a day", "recall", "false alarms a day", "delay, min", "watches a day", "updates a day", "threshold"


async def alarms(news: News, rule: str, events_per_day: float) -> tuple[float, ...]:
    """Return what the columns behind the first say."""
    levels = Counter[str]()
    breaking: dict[object, float] = {}
    last = 0
    async for item, event, minutes, threshold in raised(news.items, news.owners, rule, events_per_day):
        last = threshold
        if event:
            levels[event.level] += 1
            if event.level == "breaking":
                breaking[item.story] = minutes
    found = [minutes for story, minutes in breaking.items() if story in news.true]
    false = len(breaking) - len(found)
    delay = median(found) if found else float("nan")
    return len(found) / len(news.true), false / DAYS, delay, levels["watch"] / DAYS, levels["update"] / DAYS, last


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=3)
    news = [simulate(seed) for seed in range(parser.parse_args().seeds)]
    rows = []
    for name, rule in RULES.items():
        columns = zip(*(asyncio.run(alarms(each, *rule)) for each in news), strict=True)
        rows.append((name, *(f"{mean(column):.{3 if not number else 1}f}" for number, column in enumerate(columns))))
    items = mean(len(each.items) for each in news) / DAYS
    print_table(f"Simulated news: {DAYS} days, {items:.0f} items a day in stories, {len(news)} seeds", HEAD, rows)


if __name__ == "__main__":
    main()
