"""What stores keep, packed: every length is checked before a byte is believed."""
