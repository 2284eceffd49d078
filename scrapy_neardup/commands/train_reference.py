"""``scrapy neardup train-reference CORPUS``: train the reference text of the preset ``multiref``."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from scrapy_neardup.commands.inputs import STDOUT, add_json, add_workers, number
from scrapy_neardup.commands.terminal import print_json, print_table, track
from scrapy_neardup.exceptions import InputError
from scrapy_neardup.lab.pages import read_corpus
from scrapy_neardup.lab.training import State, Task, begin, generations, reference_file
from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.sketch import Sketcher

_REFERENCE = Path("reference.json")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("corpus", metavar="CORPUS", type=Path, help="JSON lines as for replay; - is standard input")
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE.json",
        type=Path,
        default=_REFERENCE,
        help=f"default: {_REFERENCE}; - is standard output",
    )
    for name, default, least, meaning in (
        ("sample", 400, 2, "how many texts are compared"),
        ("pairs", 5000, 1, "how many pairs of these texts are compared"),
        ("population", 100, 3, "how many lists of 3-grams each generation has"),
        ("generations", 50, 1, "steps of a training"),
        ("runs", 10, 1, "how many trainings are run; the best one is written"),
        ("seed", 1, 0, "random seed of the first run"),
    ):
        parser.add_argument(
            f"--{name}", metavar="N", type=number(int, least), default=default, help=f"{meaning} (default: {default})"
        )
    add_workers(parser)
    add_json(parser)


def run(options: argparse.Namespace, settings: dict[str, Any]) -> int:
    texts = _texts(options, NearDupSettings.from_mapping({**settings, "NEARDUP_PRESET": "multiref"}))
    try:
        task = Task.of(texts, sample=options.sample, pairs=options.pairs, seed=options.seed)
    except ValueError as error:
        raise InputError(f"{options.corpus}: {error}; use a larger corpus, or a smaller --sample") from error
    seeds = range(options.seed, options.seed + options.runs)
    runs = [_train(task, options.population, seed, options.generations) for seed in seeds]
    best = min(runs, key=lambda state: task.held_out_error(state.population[0]))
    reference = json.dumps(reference_file(task, best, texts), ensure_ascii=False, indent=0) + "\n"
    if options.output == STDOUT:
        sys.stdout.write(reference)
    else:
        try:
            options.output.write_text(reference, encoding="utf-8")
        except OSError as error:
            raise InputError(f"{options.output}: cannot be written: {error.strerror}") from error
    answer = {
        "output": str(options.output),
        "texts": len(texts),
        "mean_absolute_error": round(best.history[-1], 5),
        "first_generation": round(best.history[0], 5),
        "held_out_error": round(task.held_out_error(best.population[0]), 5),
        "held_out_errors": [round(task.held_out_error(state.population[0]), 5) for state in runs],
        "generations": best.generation,
    }
    if options.json:
        print_json(answer, stderr=options.output == STDOUT)
    else:
        _print(options, answer)
    return 0


def _texts(options: argparse.Namespace, settings: NearDupSettings) -> list[str]:
    sketcher = Sketcher(settings.resolved_preset(), min_words=settings.min_words)
    pages = read_corpus(options.corpus, settings, options.workers)
    bodies = (sketcher.body(page.text) for page in track(pages, "documents"))
    return [" ".join(body.tokens) for body in bodies if body.words >= settings.min_words]


def _train(task: Task, population: int, seed: int, until: int) -> State:
    """Return the last generation of one run."""
    state = begin(task, population=population, seed=seed)
    for _ in track(generations(task, state, until), f"generations, seed {seed}", until):
        pass
    return state


def _print(options: argparse.Namespace, answer: dict[str, Any]) -> None:
    held_out, is_piped = answer["held_out_errors"], options.output == STDOUT
    rows = (
        ("best of the lists drawn at random", answer["first_generation"]),
        (f"after {answer['generations']} generations", answer["mean_absolute_error"]),
        ("the same list over held-out texts", answer["held_out_error"]),
        (f"worst of {len(held_out)} runs over held-out texts", max(held_out)),
    )
    title = f"mean absolute error of the cosine over {options.pairs} pairs of {options.sample} texts"
    print_table(title, ("", "error"), [(name, f"{error:.4f}") for name, error in rows], stderr=is_piped)
    if not is_piped:
        print(f"NEARDUP_PRESET_OPTIONS = {{'reference': {answer['output']!r}}}")
