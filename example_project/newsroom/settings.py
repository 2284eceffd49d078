import os

BOT_NAME = "newsroom"
SPIDER_MODULES = ["newsroom.spiders"]
NEWSPIDER_MODULE = "newsroom.spiders"

# All that scrapy-neardup needs. Every item below carries a publication time, so the window is counted on that clock:
# a feed read late is judged as it would have been in time.
ADDONS = {"scrapy_neardup.Addon": 500}
NEARDUP_ITEM_FIELDS = {"time": "published"}

# Workers that share a window name its Redis in their environment: see compose.yaml.
if "NEARDUP_STORE" in os.environ:
    NEARDUP_STORE = os.environ["NEARDUP_STORE"]

# Polite to any site the `feeds` spider is pointed at. Before real use, add an address where you can be reached.
USER_AGENT = "newsroom/1.0 (scrapy-neardup example project)"
ROBOTSTXT_OBEY = True
DOWNLOAD_DELAY = 1.0
CONCURRENT_REQUESTS_PER_DOMAIN = 1
AUTOTHROTTLE_ENABLED = True
AUTOTHROTTLE_TARGET_CONCURRENCY = 1.0
DOWNLOAD_TIMEOUT = 30
DOWNLOAD_MAXSIZE = 16 * 1024 * 1024
COOKIES_ENABLED = False

# No listening ports besides what a spider itself opens. Scrapy before 2.19 does not know the second name.
TELNETCONSOLE_ENABLED = False
REMOTE_CONTROL_ENABLED = False

LOG_LEVEL = "INFO"
FEED_EXPORT_ENCODING = "utf-8"
