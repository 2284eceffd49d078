"""Fold texts, cut them into tokens and lines, and align the sentences of two texts."""
