"""Text -> characters, tokens and shingles."""
