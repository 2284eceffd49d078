"""How long the small parts take, from a text of 500 words to its fingerprint, and how that compares with the baseline.

usage: python benchmarks/small_parts.py [--baseline] [options of pyperf, such as --fast]

Needs ``pip install pyperf``. Each part is a ratio to a calibration loop of the same run, so that runs on other machines
compare: ``--baseline`` stores these ratios in small_parts.json, otherwise they are compared with it. If a part takes at
least one and a half times as long as before, it is marked, and the exit status is 1.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path

import numpy as np
import pyperf

from scrapy_neardup.evidence.figures import changed_figures, find_figures, pack_figures, unpack_figures
from scrapy_neardup.evidence.templates import find_specifics
from scrapy_neardup.sketch import PRESETS, Sketcher
from scrapy_neardup.sketch.ahead import pack_sketch, unpack_sketch
from scrapy_neardup.text.body import read_bodies
from scrapy_neardup.text.reading import window_hashes

BASELINE = Path(__file__).with_name("small_parts.json")
CALIBRATION = "calibration"
TEXTS = 50
WORDS = 500
FIGURES = 15
TOGETHER = 16
SLOWER = 1.5


def main() -> None:
    runner = pyperf.Runner(add_cmdline_args=lambda command, args: command.extend(["--baseline"] * args.baseline))
    runner.argparser.add_argument("--baseline", action="store_true", help=f"store {BASELINE.name}")
    found = {name: runner.bench_func(name, part) for name, part in parts().items()}
    if runner.args.worker or None in found.values():
        return
    # The quickest of many: what others take of the machine only ever adds.
    seconds = {name: min(benchmark.get_values()) for name, benchmark in found.items() if benchmark is not None}
    ratios = {name: seconds[name] / seconds[CALIBRATION] for name in seconds}
    if runner.args.baseline:
        BASELINE.write_text(json.dumps({name: round(ratio, 4) for name, ratio in ratios.items()}, indent=2) + "\n")
    sys.exit(print_comparison(seconds, ratios, json.loads(BASELINE.read_text())))


def print_comparison(seconds: dict[str, float], ratios: dict[str, float], baseline: dict[str, float]) -> int:
    print("\n| part | us | x calibration | baseline | x baseline |\n|---|---|---|---|---|")
    slower = False
    for name, ratio in ratios.items():
        before = baseline.get(name, ratio)
        change = ratio / before
        slower |= change > SLOWER
        mark = " slower" if change > SLOWER else ""
        print(f"| {name} | {1e6 * seconds[name]:.1f} | {ratio:.3f} | {before:.3f} | {change:.2f}{mark} |")
    return int(slower)


def parts() -> dict[str, Callable[[], object]]:
    """Each call takes the next text: nothing is found in the processor's cache because it was just there."""
    sketcher, taking_over = Sketcher(PRESETS["news"]), Sketcher(PRESETS["news"])
    texts = [text(number) for number in range(TEXTS)]
    bodies = [sketcher.body(each) for each in texts]
    packed = [pack_sketch(each, 1.0) for each in sketcher.whole(*texts)]
    figures = [unpack_figures(pack_figures(find_figures(each))) for each in texts]
    others = [find_figures(each.replace("1", "2")) for each in texts]
    turn = count()

    def each(part: Callable[[int], object]) -> Callable[[], object]:
        return lambda: part(next(turn) % TEXTS)

    def sign(number: int) -> object:
        bodies[number]._windows.clear()
        return sketcher._signer.sign([bodies[number]])

    def take_over(number: int) -> object:
        return taking_over.sketches([texts[number]], ahead=[unpack_sketch(packed[number])[0]])

    return {
        CALIBRATION: calibration,
        # Without learning from the same text again and again.
        "text to fingerprint": each(lambda i: sketcher.sketch_texts(sketcher.read_texts([texts[i]]))),
        "sixteen texts to fingerprints": each(
            lambda i: sketcher.sketch_texts(sketcher.read_texts((texts * 2)[i : i + TOGETHER]))
        ),
        "sketch from a worker process": each(take_over),
        "lines and tokens": each(lambda i: read_bodies([texts[i]], min_words=20, min_block_words=8)),
        "signature and bands": each(sign),
        "shingle hashes": each(lambda i: window_hashes(bodies[i].kept_hashes, 3)),
        "figures": each(lambda i: pack_figures(find_figures(texts[i]))),
        "specifics": each(lambda i: find_specifics([bodies[i]])),
        "changed figures": each(lambda i: changed_figures(figures[i], others[i])),
    }


def calibration() -> object:
    """What the parts are made of: dictionary look-ups, small strings, and integers in numpy."""
    words = "the same words in every run on every machine and in every year".split() * 12
    counts: dict[str, int] = {}
    for word in words:
        counts[word] = counts.get(word, 0) + len(word)
    return counts, (np.arange(20_000, dtype=np.uint32) * np.uint32(0x9E3779B1)).min()


def text(number: int) -> str:
    """Paragraphs of made-up words, as long and as rare as those of a language, with figures between them."""
    draw = random.Random(number)
    words = [_word(int(draw.paretovariate(0.9)) % 20_000) for _ in range(WORDS)]
    for place in draw.sample(range(WORDS), FIGURES):
        words[place] = draw.choice([f"{draw.randrange(2, 900)}", f"{draw.random() * 90:.1f}", "$1.2 million", "twelve"])
    lines = [words[start : start + 40] for start in range(0, WORDS, 40)]
    return "\n".join(" ".join(line).capitalize() + "." for line in lines)


def _word(rank: int) -> str:
    draw = random.Random(rank)
    return "".join(draw.choice("bdfgklmnprstvz") + draw.choice("aeiou") for _ in range(draw.randint(1, 4)))


if __name__ == "__main__":
    main()
