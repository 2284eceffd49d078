"""The process that sends messages to one service by Apprise, until its standard input ends or no message comes.

Each line that it reads is JSON: first the url of the service, then title and text of each message. It answers each by a
line: 0 if Apprise is loaded, or has sent the message; else the status of HTTP that the service gave, or 200 if it gave
none.
"""

import io
import json
import logging
import re
import signal
import sys

IDLE_SECONDS = 30  # for which the process waits for another message: it takes 58 MB


def main() -> int:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # after Ctrl-C a crawl sends the events that wait
    answers = sys.stdout
    sys.stdout = sys.stderr  # for what a plugin prints
    from apprise import Apprise  # the extra "alerts"

    log = io.StringIO()
    logging.basicConfig(level=logging.WARNING, stream=log)
    service = Apprise()
    if not service.add(json.loads(sys.stdin.readline())):
        return 1
    # For a service that reads nothing but Markdown, Apprise would escape the dots of our links.
    body_format = "markdown" if all(each.notify_format == "markdown" for each in service) else "text"
    for each in service:
        each.request_rate_per_sec = 0  # Apprise waits up to 5.5 s between two; a service that has enough answers 429
    print(0, file=answers, flush=True)
    signal.alarm(IDLE_SECONDS)
    for line in sys.stdin:
        signal.alarm(0)
        title, body = json.loads(line)
        start = log.tell()
        answer = "0"
        if not service.notify(body, title, body_format=body_format):
            status = re.search(r"\berror=(\d{3})\b", log.getvalue()[start:])
            answer = status[1] if status else "200"
        print(answer, file=answers, flush=True)
        signal.alarm(IDLE_SECONDS)
    return 0


if __name__ == "__main__":
    sys.exit(main())
