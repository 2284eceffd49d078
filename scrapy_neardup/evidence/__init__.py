"""Guards, which look at more than shingles: boilerplate, templates, figures, titles and topics."""
