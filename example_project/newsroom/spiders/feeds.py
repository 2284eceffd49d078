"""Reads real feeds and sitemaps: ``scrapy crawl feeds -a feeds=URL,URL -a sitemaps=URL -O items.jsonl``."""

from __future__ import annotations

from calendar import timegm
from collections.abc import AsyncIterator, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from importlib import import_module
from io import BytesIO
from types import ModuleType
from urllib.parse import urlsplit

from scrapy import Request, Spider
from scrapy.http import Response, TextResponse, XmlResponse
from scrapy.utils.gz import gunzip, gzip_magic_number

from newsroom.items import FeedArticle, format_time, page_time, page_title, parse_time


@dataclass(frozen=True)
class Entry:
    """One line of a feed or sitemap; what it leaves out is read from the page."""

    url: str
    title: str
    published: datetime | None


class FeedsSpider(Spider):
    """Fetches the articles that RSS and Atom feeds and sitemaps name.

    Arguments: ``feeds`` and ``sitemaps``, addresses with commas between; ``max_age_hours`` (24): older entries are
    left alone; ``max_items`` (50): the newest that many of each feed and each sitemap file.
    """

    name = "feeds"

    def __init__(
        self,
        feeds: str = "",
        sitemaps: str = "",
        max_age_hours: str = "24",
        max_items: str = "50",
        **others: str,
    ) -> None:
        super().__init__(**others)
        try:
            if unknown := [name for name in others if not name.startswith("_")]:  # scrapyd gives _job
                raise ValueError(f"-a {', '.join(unknown)}: use feeds, sitemaps, max_age_hours and max_items")
            self.feeds = _addresses("feeds", feeds)
            self.sitemaps = _addresses("sitemaps", sitemaps)
            if not self.feeds and not self.sitemaps:
                raise ValueError("needs -a feeds=URL,URL or -a sitemaps=URL,URL, or both")
            if self.feeds:
                _require_feedparser()
            self.oldest = datetime.now(timezone.utc) - timedelta(hours=_whole_number("max_age_hours", max_age_hours))
            self.max_items = _whole_number("max_items", max_items)
        except ValueError as error:
            raise SystemExit(f"The feeds spider: {error}") from None  # one line, where Scrapy would log a traceback

    async def start(self) -> AsyncIterator[Request]:
        for url in self.feeds:
            yield Request(url, callback=self.parse_feed)
        for url in self.sitemaps:
            yield Request(url, callback=self.parse_sitemap)

    def parse_feed(self, response: Response) -> Iterator[Request]:
        entries = list(read_feed(response))
        if not entries:
            self.logger.warning("No entries in %s: is it an RSS or Atom feed?", response.url)
        yield from self.article_requests(entries, response)

    def parse_sitemap(self, response: Response) -> Iterator[Request]:
        sitemap = self.open_sitemap(response)
        if sitemap is None:
            return
        for child in sitemap.xpath("/sitemapindex/sitemap"):
            changed = parse_time(child.xpath("string(lastmod)").get())
            if (url := child.xpath("normalize-space(loc)").get()) and self.is_recent(changed):
                yield response.follow(url, callback=self.parse_sitemap)
        yield from self.article_requests(list(read_sitemap(sitemap)), response)

    def open_sitemap(self, response: Response) -> XmlResponse | None:
        body = response.body
        try:
            if gzip_magic_number(response):
                body = gunzip(body, max_size=self.settings.getint("DOWNLOAD_MAXSIZE"))
        except (OSError, EOFError, ValueError) as error:
            self.logger.warning("Cannot unpack the sitemap %s: %s", response.url, error)
            return None
        sitemap = XmlResponse(response.url, body=body)
        # Sitemaps in the wild name their namespace in many spellings.
        sitemap.selector.remove_namespaces()
        if not sitemap.xpath("/urlset | /sitemapindex"):
            self.logger.warning("No sitemap at %s", response.url)
            return None
        return sitemap

    def article_requests(self, entries: Iterable[Entry], listing: Response) -> Iterator[Request]:
        recent = [entry for entry in entries if self.is_recent(entry.published)]
        recent.sort(key=lambda entry: entry.published or self.oldest, reverse=True)
        for entry in recent[: self.max_items]:
            if not listing.urljoin(entry.url).startswith(("http://", "https://")):
                self.logger.warning("%s: no web address in %s", entry.url, listing.url)
                continue
            yield listing.follow(entry.url, self.parse_article, cb_kwargs={"entry": entry, "feed": listing.url})

    def is_recent(self, moment: datetime | None) -> bool:
        """Whether the age limit lets something of this time through; what has no time passes."""
        return moment is None or moment >= self.oldest

    def parse_article(self, response: Response, entry: Entry, feed: str) -> Iterator[FeedArticle]:
        if not isinstance(response, TextResponse):
            self.logger.info("Not a text page: %s", response.url)
            return
        # An article dated by nobody counts as published when it was fetched.
        published = entry.published or page_time(response) or datetime.now(timezone.utc)
        if self.is_recent(published):
            title = entry.title or page_title(response)
            yield FeedArticle(url=response.url, title=title, published=format_time(published), feed=feed)


def read_feed(response: Response) -> Iterator[Entry]:
    feedparser = _require_feedparser()
    headers = {"content-type": (response.headers.get("Content-Type") or b"").decode("latin-1")}
    for entry in feedparser.parse(BytesIO(response.body), response_headers=headers).entries:
        if link := entry.get("link"):
            stamp = entry.get("published_parsed") or entry.get("updated_parsed")
            published = datetime.fromtimestamp(timegm(stamp), timezone.utc) if stamp else None
            yield Entry(response.urljoin(link), entry.get("title", ""), published)


def read_sitemap(sitemap: XmlResponse) -> Iterator[Entry]:
    """The pages of a ``urlset``, dated by the news extension where it is used, else by the last change.

    Read by XPath, because ``scrapy.utils.sitemap`` leaves out what the news extension nests.
    """
    for page in sitemap.xpath("/urlset/url"):
        if url := page.xpath("normalize-space(loc)").get():
            stamp = page.xpath("string(news/publication_date)").get() or page.xpath("string(lastmod)").get()
            yield Entry(url, page.xpath("normalize-space(news/title)").get(""), parse_time(stamp))


def _require_feedparser() -> ModuleType:
    # Imported only here: the other spider, and sitemaps, work without it.
    try:
        return import_module("feedparser")
    except ImportError as error:
        raise ValueError("reading feeds needs feedparser: pip install feedparser") from error


def _addresses(name: str, text: str) -> list[str]:
    addresses = [part.strip() for part in text.split(",") if part.strip()]
    for address in addresses:
        parts = urlsplit(address)
        if parts.scheme not in {"http", "https"} or not parts.netloc:
            raise ValueError(f"-a {name}: {address!r} is not an http(s) address")
    return addresses


def _whole_number(name: str, text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 100_000:
        raise ValueError(f"-a {name}={text}: must be a whole number from 1 to 100000")
    return int(text)
