"""A small Scrapy project that shows scrapy-neardup at work."""
