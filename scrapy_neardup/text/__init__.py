"""Fold texts, cut them into tokens, sentences and lines, and align the sentences of two texts."""

# Version of the folding and of the tokenizer's hashes. It is part of the configuration in the keys of a store.
NORMALISER = 5
