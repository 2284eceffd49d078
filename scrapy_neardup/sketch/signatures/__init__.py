"""Shingles -> signature: MinHash, SimHash, cosines with a reference, and the presets that choose."""
