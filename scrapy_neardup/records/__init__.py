"""Pack and unpack the data that stores keep. Every length is checked before a byte is used."""
