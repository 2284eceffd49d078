"""A page people look at: from an export feed to one self-contained document."""
