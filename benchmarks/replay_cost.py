"""Compare the CPU time of a replay with that of a bare datasketch loop over the same documents.

usage: python benchmarks/replay_cost.py FILE [--documents 6000]

FILE has recorded documents, one JSON object on each line. Both run in a process of their own, with the imports. The CPU
time is that of all processes. The loop only splits texts at blanks, and keeps no window, stories or figures.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from itertools import islice
from pathlib import Path

LOOP = """
import json, sys
from datasketch import MinHash, MinHashLSH

lsh = MinHashLSH(threshold=0.5, num_perm=128)
for number, line in enumerate(open(sys.argv[1], encoding="utf-8")):
    words = json.loads(line)["text"].lower().split()
    minhash = MinHash(num_perm=128)
    minhash.update_batch([" ".join(words[at : at + 3]).encode() for at in range(max(1, len(words) - 2))])
    lsh.query(minhash)
    lsh.insert(number, minhash, check_duplication=False)
"""


def cpu_seconds(command: list[str]) -> float:
    """Run a command, and return the CPU seconds of its processes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--documents", type=int, default=6000)
    options = parser.parse_args()
    with options.file.open(encoding="utf-8") as lines, tempfile.TemporaryDirectory() as folder:
        documents, verdicts = Path(folder) / "documents.jsonl", Path(folder) / "verdicts.jsonl"
        chosen = sorted(islice(lines, options.documents), key=lambda line: str(json.loads(line)["time"]))
        documents.write_text("".join(chosen), encoding="utf-8")
        replay = [sys.executable, "-m", "scrapy", "neardup", "replay", str(documents), "-O", str(verdicts)]
        ours, theirs = cpu_seconds(replay), cpu_seconds([sys.executable, "-c", LOOP, str(documents)])
    for name, seconds in (("replay", ours), ("datasketch loop", theirs)):
        print(f"{name}: {1000 * seconds / len(chosen):.2f} ms of CPU a document")
    print(f"{ours / theirs:.2f} times")


if __name__ == "__main__":
    main()
