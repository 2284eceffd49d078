"""``scrapy neardup <subcommand>``: one module a subcommand. Scrapy's other commands load none of them."""

import argparse
import asyncio
import inspect
import os
import sys
from importlib import import_module
from typing import Any, NoReturn

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError
from scrapy.settings import SETTINGS_PRIORITIES
from scrapy.utils.log import configure_logging

# What each subcommand does, and the arguments of an example, for its help.
SUBCOMMANDS = {
    "replay": (
        "runs recorded documents through the detector at their own times",
        "recorded.jsonl.gz -O verdicts.jsonl -s NEARDUP_ACTION=drop",
    ),
    "watch": (
        "shows the running events of a window, its growing stories, and what it holds",
        "--events --store redis://localhost/0",
    ),
    "ask": (
        "answers programs as JSON lines: what is new since the last time, who reports it, and who only reprints it",
        "stories --since 1764230400000-0@1764230400 --sources 3",
    ),
    "mcp": (
        "lets a language model ask the same, through the Model Context Protocol over standard input and output",
        "--store redis://localhost/0",
    ),
    "mute": ("raises no more events of a story, for all crawls that share the window", "6553f100989e991f"),
    "purge": ("removes a namespace, or the documents of one source or page", "--source bbc.co.uk"),
    "doctor": ("checks files, store, extractor and receivers of events before a crawl", "--no-events"),
    "eval": (
        "measures the verdicts on documents that people sorted into clusters, and tells the best threshold",
        "labelled.jsonl --background background.jsonl",
    ),
    "explain": (
        "lists documents that are like a given one, or says why the second of two gets its verdict",
        "recorded.jsonl.gz#69b91504a82af0c4 recorded.jsonl.gz#69b92c1e5d0c77b1",
    ),
    "report": (
        "writes one page that shows stories, copies side by side, events and drops",
        "items.jsonl -o report.html",
    ),
}

# Exit statuses of a command that Ctrl-C or its reader ended, as shells count them.
INTERRUPTED = 130
PIPE_CLOSED = 141


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """End with one line, and not with the usage of all options before it."""
        self.exit(2, f"{self.prog}: error: {message} ({self.prog} --help lists the options)\n")


class Command(ScrapyCommand):
    requires_crawler_process = False
    default_settings = {"LOG_ENABLED": False}  # noqa: RUF012  Scrapy's own form

    def syntax(self) -> str:
        return "<subcommand> [options]"

    def short_desc(self) -> str:
        return "Check, watch, measure and replay what scrapy-neardup finds"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        subparsers = parser.add_subparsers(dest="subcommand", metavar="subcommand", parser_class=_Parser)
        for name, (summary, example) in SUBCOMMANDS.items():
            subparser = subparsers.add_parser(
                name,
                prog=f"scrapy neardup {name}",
                help=summary,
                description=f"{name}: {summary}",
                epilog=f"example: scrapy neardup {name} {example}",
            )
            subparser.add_argument(
                "-s",
                dest="more_set",
                metavar="NAME=VALUE",
                action="append",
                default=[],
                help="set a setting, as NEARDUP_WINDOW=7200",
            )
            add_arguments(subparser, name)

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        if opts.subcommand is None:
            raise UsageError  # Scrapy then prints the help
        opts.set += opts.more_set  # -s may stand before and after the subcommand's name
        super().process_options(args, opts)
        assert self.settings is not None
        given = [self.settings.getpriority(f"NEARDUP_{name}") or 0 for name in ("PRESET", "PRESET_OPTIONS")]
        if given[1] < given[0] == SETTINGS_PRIORITIES["cmdline"]:
            # The parameters that the project set are for its own preset.
            self.settings.pop("NEARDUP_PRESET_OPTIONS", None)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        from scrapy_neardup import NearDupError, StoreUnavailable
        from scrapy_neardup.tools.commands.console import print_error

        assert self.settings is not None
        configure_logging(self.settings)
        try:
            if args:
                raise NearDupError(f"unrecognized arguments: {' '.join(args)} (options go after the subcommand)")
            # Without Scrapy's defaults, which would look like the user's own values.
            own = {name: value for name, value in self.settings.items() if self.settings.getpriority(name)}
            self.exitcode = run_subcommand(opts.subcommand, opts, own)
            sys.stdout.flush()
        except BrokenPipeError:
            leave_closed_pipe()
            self.exitcode = PIPE_CLOSED
        except (NearDupError, OSError) as error:
            message = str(error)
            if isinstance(error, StoreUnavailable):
                message += "; scrapy neardup doctor checks NEARDUP_STORE"
            elif isinstance(error, OSError) and error.errno:
                message = f"{error.filename or 'an open file'}: cannot be read or written: {error.strerror}"
                leave_closed_pipe()  # it may be standard output that is full
            # One line: Scrapy would print the usage of all subcommands before it.
            print_error(f"scrapy neardup {opts.subcommand}: error: {message}")
            self.exitcode = 2
        except KeyboardInterrupt:
            print("Interrupted.", file=sys.stderr)
            self.exitcode = INTERRUPTED


def add_arguments(parser: argparse.ArgumentParser, subcommand: str) -> None:
    for names, properties in _module(subcommand).OPTIONS:
        parser.add_argument(*names, **properties)


def run_subcommand(name: str, options: argparse.Namespace, settings: dict[str, Any]) -> int:
    status = _module(name).run(options, settings)
    if inspect.iscoroutine(status):
        status = asyncio.run(status)
    return int(status)


def leave_closed_pipe() -> None:
    """Let nothing more be written to standard output, whose reader is gone, so that the end of Python is quiet."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _module(name: str) -> Any:
    """Return the module of a subcommand.

    It has the arguments ``OPTIONS``, see ``console.option``, and the function ``run(options, settings)``. This may be a
    coroutine, returns the exit status, and raises NearDupError for a mistake that the user can correct.
    """
    return import_module(f"{__name__}.{name.replace('-', '_')}")
