"""The command ``lapilli``: loads the file of the subcommand that is run, and prints lapilli's errors.

Each subcommand is a file of this folder that defines ``command``; the table below is all that knows of it.
"""

from __future__ import annotations

import contextlib
import difflib
import importlib
import logging
import os
import sys
from typing import cast

import click

from lapilli import __version__

from ..ir.config import config
from ..ir.errors import Error
from ..vk_runtime import log_topics

COMMANDS = {
    "bench": "Launch latency and kernel time, as ratios; in a checkout.",
    "build": "Compiles kernels ahead of time, to a bundle file or file tables.",
    "cache": "Compiled kernels on disk: info, prune, clear.",
    "devices": "Table of the Vulkan devices present.",
    "doctor": "What of Vulkan is installed, what is missing, and the command that repairs it.",
    "dump": "One stage of a kernel: Python source, IR, SPIR-V, metadata.",
    "explain": "What an error code means and what to do about it.",
    "inspect": "What is in a bundle file, a file table or a SPIR-V module.",
    "link": "Links SPIR-V modules into one.",
    "opt": "Runs passes over IR text.",
}
"""Subcommand -> one line for ``lapilli --help``, so that help imports none of them."""


class LazyGroup(click.Group):
    """A group whose subcommands are modules, imported when one of them is run."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f".{cmd_name}", __package__)
        return cast(click.Command, module.command)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            close = difflib.get_close_matches(name, COMMANDS, n=1)
            hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(sorted(COMMANDS))}"
            ctx.fail(f"no command {name!r}; {hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(sorted(COMMANDS.items()))


_EPILOG = """Exit status: 0 where all went well; 1 where something failed, with the reason on standard error;
2 for wrong options.

\b
Completion in bash (zsh_source, fish_source elsewhere):
  eval "$(_LAPILLI_COMPLETE=bash_source lapilli)"
"""


@click.group(cls=LazyGroup, epilog=_EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="lapilli")
def group() -> None:
    """Kernels written in Python on any Vulkan device."""


def main(args: list[str] | None = None) -> None:
    """Runs the command line `args` (default: the process's) and exits.

    A lapilli error is printed as its message with status 1; with ``LAPILLI_LOG=debug`` its traceback is
    shown as well.
    """
    wants_traceback = False
    if sys.stdout is None:  # pyright: ignore[reportUnnecessaryComparison] - closed by who started the process
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - until the process ends
    try:
        wants_traceback = _set_up_logging()
        group.main(args=args, prog_name="lapilli")
    except Error as error:
        if wants_traceback:
            raise
        click.echo(f"lapilli: {error}", err=True)
        sys.exit(1)
    except OSError as error:
        # Commands report the files that they are given; what is left is an output that is full or closed.
        if wants_traceback:
            raise
        _drop_standard_output()
        click.echo(f"lapilli: {error.strerror or error}", err=True)
        sys.exit(1)


def _drop_standard_output() -> None:
    """Lets Python's last flush of standard output succeed, which would else complain once more."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _set_up_logging() -> bool:
    """Shows warnings, and of the library what ``LAPILLI_LOG`` says; returns whether that is all of it."""
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    log_topics.set_up()
    return "debug" in config.log
