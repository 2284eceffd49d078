"""What two documents have in common besides shingles: boilerplate, titles, names, topics, and what their texts say."""
