"""A news site bundled for offline use, and the loopback proxy that serves it."""
