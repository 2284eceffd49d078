"""The spiders of the example: ``newswire`` (bundled site) and ``feeds`` (any feed or sitemap)."""
