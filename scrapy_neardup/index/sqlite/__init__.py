"""The window in one SQLite file."""
