"""Stop the start of a crawl with one line if a setting is wrong."""

from __future__ import annotations

import logging

from scrapy.exceptions import UsageError


class WrongSpiderSetting(UsageError):
    """A wrong setting that is found when the crawl has begun, as those of a spider are."""


class _InOneLine(logging.Filter):
    """Leaves out the traceback when asyncio logs a wrong setting. Changes no other line."""

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if isinstance(record.exc_info, tuple) else None
        if isinstance(error, WrongSpiderSetting):
            record.msg, record.args, record.exc_info = f"scrapy: error: {error}", (), None
        return True


_IN_ONE_LINE = _InOneLine()


def wrong_spider_setting(error: Exception) -> WrongSpiderSetting:
    """Return the error to raise for a wrong setting. The log then shows its message without a traceback."""
    logging.getLogger("asyncio").addFilter(_IN_ONE_LINE)  # it logs the errors of a crawl that has begun
    return WrongSpiderSetting(str(error))
