"""How alike two documents are, and which candidate is the match."""
