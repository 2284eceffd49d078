"""What a text says besides its shingles: boilerplate, templates, figures, titles, topics."""
