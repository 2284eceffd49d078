"""Match -> Story -> event: who covers which story, and when its coverage is an event."""
