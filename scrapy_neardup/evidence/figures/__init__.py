"""Read the figures of a text: numbers in digits and words, and what they count."""
