"""The process that sends one message by Apprise: url, title and text come on standard input, as JSON.

It prints what Apprise says of a failure, and ends with 0 if the message was taken.
"""

from __future__ import annotations

import json
import logging
import sys


def main() -> int:
    from apprise import Apprise  # the extra "alerts"

    url, title, body = json.load(sys.stdin)
    logging.basicConfig(level=logging.WARNING, stream=sys.stdout)
    service = Apprise()
    return 0 if service.add(url) and service.notify(body, title, body_format="text") else 1


if __name__ == "__main__":
    sys.exit(main())
