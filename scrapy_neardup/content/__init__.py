"""Extract main content from HTML outside the event loop, and read the source and page that a url names."""
