"""The window in one SQLite file, or in memory."""
