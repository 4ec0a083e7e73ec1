"""The parser of the command line, and the formatting of its help."""

from __future__ import annotations

import argparse
import importlib
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from parity.errors import nearest
from parity.platform.version import __version__
from parity.suite.options import read_options

GROUPS = {
    "Start": ("init", "doctor", "headers", "list"),
    "Test": ("build", "run", "watch"),
    "Debug": ("explain", "reproduce", "coverage"),
    "Measure": ("bench", "mutate", "footprint"),
    "Results": ("report", "compare", "merge"),
    "Devices and scale": ("record", "capture", "exec", "worker"),
    "Shell": ("completion",),
}
"""The commands in the order of ``parity --help``. The module ``parity.cli.<command>`` implements each one."""

WRONG_USAGE = 2

COLORS = ("auto", "always", "never")
"""The values of ``--color``."""
CHECKS = ("all", "initialized", "none")
"""The values of ``parity exec --check``."""

HELP_WIDTH = 120
"""The largest width of help texts, in characters."""


class _Parser(argparse.ArgumentParser):
    """Reports wrong usage in one line, with the closest option or command as a suggestion."""

    def error(self, message: str) -> NoReturn:
        self.exit(WRONG_USAGE, f"{self.prog}: error: {message}; see {self.prog} --help\n")

    def format_help(self) -> str:
        """Leave out argparse's list of commands, which the epilog shows by group."""
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):
                action.help = argparse.SUPPRESS
        return super().format_help()

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Refuse unknown arguments here, so that the parser of the command reports them, not the outer parser."""
        found, rest = super().parse_known_args(args, namespace)
        if rest:
            word = rest[0].partition("=")[0]
            near = nearest(word, self._option_string_actions) if word.startswith("--") else ""
            self.error(f"unrecognized arguments: {' '.join(rest)}{near}")
        return found, rest

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            error.message += nearest(str(value), map(str, action.choices or ()))
            raise


class _Help(argparse.Action):
    """Prints help and exits: ``-h`` a line for each option, ``--help`` everything."""

    def __init__(self, option_strings: Sequence[str], dest: str, help: str | None = None) -> None:
        super().__init__(option_strings, argparse.SUPPRESS, nargs=0, default=argparse.SUPPRESS, help=help)

    def __call__(self, parser: argparse.ArgumentParser, _: object, __: object, option: str | None = None) -> None:
        if option == "-h":
            parser.description = (parser.description or "").partition("\n\n")[0]
            positional = (f"[{each.metavar} ...]" for each in parser._actions if not each.option_strings)
            parser.usage = " ".join([parser.prog, "[OPTION ...]", *positional])
            for action in parser._actions:
                action.help = action.help and _first_clause(action.help)
        parser.print_help()
        parser.exit()


def _first_clause(text: str) -> str:
    return re.split(r"[:;(]|, (?:in addition|which|so that|although|with)\b", text)[0].strip().removesuffix(".")


class _Version(_Help):
    """Prints the version without argparse's formatter, whose import of Rich takes longer than everything else."""

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

    choices = {
        "COLORS": COLORS,
        "CHECKS": CHECKS,
        "TOOLCHAINS": TOOLCHAINS,
        "HIPIFIERS": HIPIFIERS,
        "LAUNCHES": LAUNCHES,
    }
    targets = {"CUDA_TARGET": CUDA_TARGET, "DEFAULT_TARGETS": DEFAULT_TARGETS}
    groups: dict[str, argparse._ArgumentGroup] = {}
    for group, flags, settings in read_options(command, {**choices, **targets, **constants}):
        if group and group not in groups:
            groups[group] = parser.add_argument_group(group.lower())
        (groups[group] if group else parser).add_argument(*flags, **settings)


def commands() -> tuple[str, ...]:
    """Return the names of all commands."""
    return tuple(name for names in GROUPS.values() for name in names)


def build_parser(argv: Sequence[str]) -> argparse.ArgumentParser:
    """Return a parser with all commands, and with the options of the commands that occur in ``argv``.

    The docstring of a command's module is its help; the first line is its summary.
    """
    formatter, summaries = _formatter(), {name: _summary(name) for name in commands()}
    found = _Parser(
        "parity",
        description="Find where your HIP port differs from its CUDA original, without an AMD GPU.",
        epilog=_command_list(summaries),
        formatter_class=formatter,
        allow_abbrev=False,
        add_help=False,
        usage="parity [-h] [--version] COMMAND ...",
    )
    found.add_argument("-h", "--help", action=_Help, help="print this help and exit")
    found.add_argument("--version", action=_Version, help="print the version and exit")
    parsers = found.add_subparsers(metavar="COMMAND", required=True, prog=found.prog)
    for name in commands():
        command = parsers.add_parser(
            name, help=summaries[name], formatter_class=formatter, allow_abbrev=False, add_help=False
        )
        if name in argv:  # import only what is needed
            module = importlib.import_module(f"parity.cli.{name.replace('-', '_')}")
            command.description = _wrap((module.__doc__ or "").strip())
            command.epilog = getattr(module, "EPILOG", None) and _wrap(module.EPILOG)
            command.add_argument("-h", "--help", action=_Help, help="print this help; -h prints a line for each option")
            _add_options(command, name, vars(module))
            command.set_defaults(command=module.main)
    return found


def _command_list(summaries: Mapping[str, str]) -> str:
    """The commands with their summaries, by group."""
    width = max(map(len, summaries))
    parts = []
    for group, names in GROUPS.items():
        parts.append("\n".join([f"{group}:", *(f"  {name:<{width}}  {summaries[name]}" for name in names)]))
    return "\n\n".join([*parts, "parity COMMAND -h lists the options of a command, --help explains them."])


def _summary(command: str) -> str:
    """The first line of the docstring of a command's module, which is not imported."""
    with Path(__file__).parents[1].joinpath(f"{command.replace('-', '_')}.py").open(encoding="utf-8") as source:
        return _first_clause(source.readline().strip().strip('"'))
