"""Two short articles that have nothing in common."""

from __future__ import annotations

FERRY = (
    "A ferry with ninety people on board sank in the strait on Sunday night, and rescue boats searched the cold water "
    "until dawn. The captain told the coast guard that a door of the car deck had stood open. Fishermen from three "
    "villages pulled most of the passengers out, and a hospital ship took the injured to the mainland."
)
COMET = (
    "Astronomers at the southern observatory have found a comet that nobody had expected before next year. It will "
    "pass the orbit of Mars in spring and may be seen without a telescope for about a week. Its tail holds more "
    "carbon than any other on record, the team writes in a paper that came out yesterday."
)
