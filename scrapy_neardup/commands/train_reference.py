"""``scrapy neardup train-reference CORPUS``: train the reference text of the preset ``multiref``."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy_neardup.commands.terminal import make_console
from scrapy_neardup.exceptions import InputError, SettingsError

if TYPE_CHECKING:
    from scrapy_neardup.sketch.signatures.training import State, Task


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("corpus", metavar="CORPUS", type=Path, help="JSON lines as for replay")
    parser.add_argument("-o", "--output", metavar="FILE.json", type=Path, default=Path("reference.json"))
    parser.add_argument("--sample", metavar="N", type=int, default=400, help="texts compared (default: 400)")
    parser.add_argument("--pairs", metavar="N", type=int, default=5000, help="pairs of them (default: 5000)")
    parser.add_argument("--population", metavar="N", type=int, default=100, help="lists at a time (default: 100)")
    parser.add_argument("--generations", metavar="N", type=int, default=50, help="default: 50")
    parser.add_argument(
        "--runs", metavar="N", type=int, default=10, help="trainings; the best one is written (default: 10)"
    )
    parser.add_argument("--seed", metavar="N", type=int, default=1, help="of the first run (default: 1)")
    parser.add_argument("--workers", metavar="N", type=int, default=os.cpu_count() or 1, help="extraction processes")
    parser.add_argument("--json", action="store_true", help="one JSON object")


_LEAST = {"sample": 2, "pairs": 1, "population": 3, "generations": 1, "runs": 1, "seed": 0, "workers": 1}


def run(options: argparse.Namespace, settings: dict[str, Any]) -> int:
    from scrapy_neardup.settings import NearDupSettings
    from scrapy_neardup.sketch.signatures.training import Task, reference_file

    for name, least in _LEAST.items():
        if getattr(options, name) < least:
            raise SettingsError(f"--{name}", getattr(options, name), f"must be {least} or more")
    configured = NearDupSettings.from_mapping({**settings, "NEARDUP_PRESET": "multiref"})
    texts = _texts(options, configured)
    try:
        task = Task.of(texts, sample=options.sample, pairs=options.pairs, seed=options.seed)
    except ValueError as error:
        raise InputError(f"{options.corpus}: {error}; use a larger corpus, or a smaller --sample") from error
    runs = [_train(options, task, seed) for seed in range(options.seed, options.seed + options.runs)]
    best = min(runs, key=lambda state: task.held_out_error(state.population[0]))
    _write(options.output, json.dumps(reference_file(task, best, texts), ensure_ascii=False, indent=0) + "\n")
    for seed in range(options.seed, options.seed + options.runs):
        _unfinished(options, seed).unlink(missing_ok=True)
    _print(options, task, runs, best, len(texts))
    return 0


def _unfinished(options: argparse.Namespace, seed: int) -> Path:
    """Return the file that keeps a run until all runs are done."""
    output: Path = options.output
    return output.with_name(f"{output.name}.{seed}.unfinished")


def _train(options: argparse.Namespace, task: Task, seed: int) -> State:
    """Return the last generation of one run; continue one that was interrupted."""
    from tqdm import tqdm

    from scrapy_neardup.sketch.signatures.training import begin, generations, restore, saved

    unfinished = _unfinished(options, seed)
    run_of = (task.digest, options.population, seed)
    state = _resumed(unfinished, run_of, restore) or begin(task, population=options.population, seed=seed)
    with tqdm(
        desc=f"seed {seed}",
        total=options.generations,
        initial=state.generation,
        unit=" generations",
        disable=not sys.stderr.isatty(),
    ) as bar:
        for each in generations(task, state, options.generations):
            _write(unfinished, saved(each, run_of))
            bar.set_postfix(error=f"{each.history[-1]:.4f}")
            bar.update()
    return state


def _texts(options: argparse.Namespace, configured: Any) -> list[str]:
    from tqdm import tqdm

    from scrapy_neardup.evaluation.corpus import read_corpus
    from scrapy_neardup.sketch import Sketcher

    sketcher = Sketcher(configured.resolved_preset(), min_words=configured.min_words)
    pages = read_corpus(options.corpus, configured, options.workers)
    bodies = (sketcher.body(page.text) for page in tqdm(pages, unit=" pages", disable=not sys.stderr.isatty()))
    return [" ".join(body.tokens) for body in bodies if body.words >= configured.min_words]


def _resumed(path: Path, run_of: tuple[str, int, int], restore: Any) -> State | None:
    """Return an interrupted training of the same corpus and options, if there is one."""
    try:
        found: State | None = restore(path.read_text(encoding="utf-8"), run_of)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path}: cannot be continued ({error}); remove the file to begin anew") from error
    return found


def _write(path: Path, text: str) -> None:
    """Write the whole file or nothing."""
    beside = path.with_name(path.name + ".new")
    try:
        beside.write_text(text, encoding="utf-8")
        beside.replace(path)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from error


def _print(options: argparse.Namespace, task: Task, runs: list[State], best: State, texts: int) -> None:
    held_out = [round(task.held_out_error(state.population[0]), 5) for state in runs]
    answer = {
        "output": str(options.output),
        "texts": texts,
        "mean_absolute_error": round(best.history[-1], 5),
        "first_generation": round(best.history[0], 5),
        "held_out_error": round(task.held_out_error(best.population[0]), 5),
        "held_out_errors": held_out,
        "generations": best.generation,
    }
    if options.json:
        print(json.dumps(answer))
        return
    from rich.table import Table

    table = Table(title=f"mean absolute error of the cosine over {options.pairs} pairs of {options.sample} texts")
    table.add_column("")
    table.add_column("error", justify="right")
    table.add_row("best of the lists drawn at random", f"{best.history[0]:.4f}")
    table.add_row(f"after {best.generation} generations", f"{best.history[-1]:.4f}")
    table.add_row("the same list over held-out texts", f"{answer['held_out_error']:.4f}")
    table.add_row(f"worst of {len(runs)} runs over held-out texts", f"{max(held_out):.4f}")
    make_console().print(table)
    make_console().print(f"NEARDUP_REFERENCE = {str(options.output)!r}")
