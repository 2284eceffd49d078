"""Fold texts, cut them into tokens, sentences and lines, and align the sentences of two texts."""
