"""Recorded documents through the detector, and how well it did."""
