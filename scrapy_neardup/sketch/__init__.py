"""Make the fingerprint of a main content: tokens, boilerplate, shingles, signature and band keys."""
