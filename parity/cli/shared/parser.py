"""The parser of the command line, and the formatting of its help."""

from __future__ import annotations

import argparse
import importlib
import os
import shutil
import sys
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from parity.errors import nearest
from parity.platform.version import __version__
from parity.suite.options import read_options

COMMANDS = (
    *("init", "run", "merge", "report", "compare", "record", "mutate", "bench", "list", "show", "reproduce", "why"),
    *("build", "static", "coverage", "doctor", "worker", "hip-emulator"),
)
"""The commands in the order of ``parity --help``. The module ``parity.cli.<command>`` implements each one."""

WRONG_USAGE = 2

HELP_WIDTH = 120
"""The largest width of help texts, in characters."""


class _Parser(argparse.ArgumentParser):
    """Reports wrong usage in one line, with the closest option or command as a suggestion."""

    def error(self, message: str) -> NoReturn:
        self.exit(WRONG_USAGE, f"{self.prog}: error: {message}; see {self.prog} --help\n")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Refuse unknown arguments here, so that the parser of the command reports them, not the outer parser."""
        found, rest = super().parse_known_args(args, namespace)
        if rest:
            near = nearest(rest[0].partition("=")[0], self._option_string_actions)
            self.error(f"unrecognized arguments: {' '.join(rest)}{near}")
        return found, rest

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            error.message += nearest(str(value), map(str, action.choices or ()))
            raise


class _PrintCompletion(argparse.Action):
    """Prints the completion script of a shell and exits."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: object, option: str | None = None
    ) -> None:
        from parity.cli.shared.completion import completion_script

        print(completion_script(build_parser(COMMANDS), str(values)))
        parser.exit()


class _Version(argparse.Action):
    """Prints the version without argparse's formatter, whose import of Rich takes longer than everything else."""

    def __init__(self, option_strings: Sequence[str], dest: str, help: str | None = None) -> None:
        super().__init__(option_strings, argparse.SUPPRESS, nargs=0, default=argparse.SUPPRESS, help=help)

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        print(f"parity {__version__}")
        parser.exit()


class _PlainFormatter(argparse.RawDescriptionHelpFormatter):
    """Formats help like rich_argparse, without colours and without the slow import of Rich."""

    def start_section(self, heading: str | None) -> None:
        super().start_section(heading and heading.title())

    def add_usage(self, usage: Any, actions: Any, groups: Any, prefix: str | None = None) -> None:
        super().add_usage(usage, actions, groups, "Usage: " if prefix is None else prefix)

    def _format_action_invocation(self, action: argparse.Action) -> str:
        if not action.option_strings or action.nargs == 0:
            return super()._format_action_invocation(action)
        value = self._format_args(action, self._get_default_metavar_for_optional(action))
        return f"{', '.join(action.option_strings)} {value}"

    def _split_lines(self, text: str, width: int) -> list[str]:
        return textwrap.wrap(" ".join(text.split()), width, break_on_hyphens=False)


def _formatter() -> type[argparse.HelpFormatter]:
    """The formatter of help: coloured on a terminal, or where these variables ask Rich for colours."""
    if not (sys.stdout and sys.stdout.isatty()) and not {"FORCE_COLOR", "TTY_COMPATIBLE"} & os.environ.keys():
        return _PlainFormatter
    from rich_argparse import RawDescriptionRichHelpFormatter

    RawDescriptionRichHelpFormatter.help_markup = RawDescriptionRichHelpFormatter.text_markup = False  # [tool.parity]
    return RawDescriptionRichHelpFormatter


def _wrap(text: str) -> str:
    """Wrap paragraphs to the width of the terminal, except paragraphs with indented lines."""
    width = min(shutil.get_terminal_size().columns, HELP_WIDTH)
    parts = text.split("\n\n")
    return "\n\n".join(each if "\n " in f"\n{each}" else textwrap.fill(each, width) for each in parts)


def _add_options(parser: argparse.ArgumentParser, command: str, constants: Mapping[str, object]) -> None:
    """Add the options of a command. ``constants`` are the constants of its module, which help texts can name."""
    from parity.compilers.rocm import TOOLCHAINS
    from parity.compilers.targets import CUDA_TARGET, DEFAULT_TARGETS
    from parity.porting import HIPIFIERS
    from parity.suite.settings import LAUNCHES

    choices = {"TOOLCHAINS": TOOLCHAINS, "HIPIFIERS": HIPIFIERS, "LAUNCHES": LAUNCHES}
    targets = {"CUDA_TARGET": CUDA_TARGET, "DEFAULT_TARGETS": DEFAULT_TARGETS}
    for flags, settings in read_options(command, {**choices, **targets, **constants}):
        parser.add_argument(*flags, **settings)


def build_parser(argv: Sequence[str]) -> argparse.ArgumentParser:
    """Return a parser with all commands, and with the options of the commands that occur in ``argv``.

    The docstring of a command's module is its help; the first line is its summary.
    """
    formatter = _formatter()
    found = _Parser(
        "parity",
        description="Does a HIP port compute what the CUDA kernels compute, value by value?",
        formatter_class=formatter,
        allow_abbrev=False,
    )
    found.add_argument("--version", action=_Version, help="print the version and exit")
    found.add_argument(
        "--print-completion",
        action=_PrintCompletion,
        choices=("bash", "zsh", "fish"),
        help="print a script that lets this shell complete commands, options, targets, runners and ops",
    )
    # With prog, argparse does not format a usage line, for which it would import Rich.
    commands = found.add_subparsers(title="commands", metavar="COMMAND", required=True, prog=found.prog)
    for name in COMMANDS:
        file = name.replace("-", "_")
        with Path(__file__).parents[1].joinpath(f"{file}.py").open(encoding="utf-8") as source:
            summary = source.readline().strip().strip('"')
        command = commands.add_parser(name, help=summary, formatter_class=formatter, allow_abbrev=False)
        if name in argv:  # import only what is needed
            module = importlib.import_module(f"parity.cli.{file}")
            command.description = _wrap((module.__doc__ or summary).strip())
            command.epilog = getattr(module, "EPILOG", None) and _wrap(module.EPILOG)
            _add_options(command, name, vars(module))
            command.set_defaults(command=module.main)
    return found
