"""Look at crawls from outside: commands, the report, questions, and the lab. No crawl imports any of this."""
