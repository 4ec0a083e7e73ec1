"""The command line, ``parity COMMAND``: a module for each command."""

from __future__ import annotations

import argparse
import contextlib
import gc
import importlib
import logging
import os
import shutil
import signal
import sys
import textwrap
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from parity.errors import SYSTEM_ERRORS, NotAvailable, ParityError, UsageError, nearest, refusal
from parity.platform.signals import INTERRUPTED, held
from parity.platform.version import __version__

__all__ = ["main", "parser"]

COMMANDS = (
    *(
        "init",
        "run",
        "merge",
        "report",
        "compare",
        "record",
        "mutate",
        "bench",
        "list",
        "show",
        "reproduce",
        "why",
        "build",
        "static",
    ),
    *("coverage", "doctor", "worker"),
    "hip-emulator",
)
EXECUTING = ("run", "record", "mutate", "bench", "coverage")
"""Commands that execute cases, in processes of this machine unless a cluster is named."""
WRONG_USAGE = 2
TERMINATED = 143
BROKEN_PIPE = 141


def main(argv: Sequence[str] | None = None) -> int:
    """Run parity with these arguments (default: those of the process); the exit code.

    0 all passed, 1 a failure, 2 wrong usage, 3 nothing was run or what was asked for is not available, 130 interrupted,
    143 terminated (SIGTERM), which leaves what an interrupt leaves.
    """
    try:
        with _signals(restored=argv is not None) as terminated:
            code = _main(argv)
            return TERMINATED if terminated and code == INTERRUPTED else code
    except KeyboardInterrupt:  # a second one
        return INTERRUPTED


def _main(argv: Sequence[str] | None) -> int:
    logging.basicConfig(format="parity: %(message)s", level=logging.WARNING, force=True)
    logging.getLogger("parity").setLevel(logging.INFO)
    try:
        given = sys.argv[1:] if argv is None else argv
        for argument in given:
            if not _is_text(argument):
                raise UsageError(f"the argument {argument!r} is not UTF-8; a file of such a name has to be renamed")
        # Interrupted in the middle of an import, some packages say that they are not there.
        with held():
            _begin(given)
            understood = parser(given)
        try:
            arguments = understood.parse_args(given)
        except SystemExit as leaving:  # help, version, wrong usage; nothing else may end parity
            return leaving.code if isinstance(leaving.code, int) else WRONG_USAGE
        if not gc.isenabled():  # since this process began
            gc.freeze()
            gc.enable()
        for option in ("toolchain", "hipify"):
            if asked := getattr(arguments, option, None):
                from parity.compilers.rocm import VARIABLE
                from parity.porting.translators import HIPIFY

                os.environ[VARIABLE if option == "toolchain" else HIPIFY] = asked
        code: int = arguments.command(arguments)
        problems: tuple[str, ...] = getattr(arguments, "problems", ())
        if problems and not code:
            code = WRONG_USAGE  # no case failed, but a part of the suite could not be used
        sys.stdout.flush()
    except ParityError as error:
        _say(f"parity: {error}")
        return error.exit_code
    except MemoryError:
        _say("parity: there is not enough memory for this")
        return NotAvailable.exit_code
    except KeyboardInterrupt:
        _say("parity: interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        # The reader has closed the pipe; without this the interpreter would print an error when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except OSError as error:
        _say(f"parity: {refusal(error)}")
        return NotAvailable.exit_code if error.errno in SYSTEM_ERRORS else WRONG_USAGE
    except SystemExit as leaving:
        _say(f"parity: something that was imported ended the process (exit code {leaving.code}); nothing is proven")
        return WRONG_USAGE
    return code


@contextlib.contextmanager
def _signals(*, restored: bool) -> Iterator[list[int]]:
    """Let SIGTERM interrupt as Ctrl-C does, and note it in the list; after an interrupt it is ignored.

    Signals are not ``restored`` where the process ends afterwards: an interrupt while Python exits would show a
    traceback.
    """
    terminated: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield terminated
        return
    met: list[int] = []

    def interrupt(number: int, frame: FrameType | None) -> None:
        met.append(number)
        if number == signal.SIGTERM:
            if len(met) > 1:
                return
            terminated.append(number)
        raise KeyboardInterrupt

    usual = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
    # What was ignored stays so, as nohup wants it.
    ours = {number: before for number, before in usual.items() if signal.getsignal(number) == before}
    try:
        for number in ours:
            signal.signal(number, interrupt)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ours)
        yield terminated
    finally:
        for number, before in ours.items():
            signal.signal(number, before if restored else signal.SIG_IGN)


def _is_text(argument: str) -> bool:
    try:
        argument.encode()
    except UnicodeEncodeError:
        return False
    return True


def _say(text: str) -> None:
    from parity.cli.terminal import errors

    errors().print(text, style="red")


class _Parser(argparse.ArgumentParser):
    """A parser that says in one line what was wrong, and which option or command may have been meant."""

    def error(self, message: str) -> NoReturn:
        self.exit(WRONG_USAGE, f"{self.prog}: error: {message}; {self.prog} --help says what there is\n")

    # A command's own, so that what it does not know is told by the command, and not by the parser around it.
    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
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
    """Prints the script of a shell, and ends."""

    def __call__(
        self, found: argparse.ArgumentParser, namespace: argparse.Namespace, values: object, option: str | None = None
    ) -> None:
        from parity.cli.completion import completion

        print(completion(parser(COMMANDS), str(values)))
        found.exit()


def _begin(argv: Sequence[str]) -> None:
    """Let the process that forks workers import what they need while the command does, if it is going to need any."""
    elsewhere = any(each.startswith(("-h", "--help", "--cluster")) for each in argv)
    if argv and argv[0] in EXECUTING and not elsewhere:
        from parity.platform.fork_server import begin

        begin()


class _Version(argparse.Action):
    """Prints the version as it is: argparse would format it, with Rich, which takes longer than all else."""

    def __init__(self, option_strings: Sequence[str], dest: str, help: str | None = None) -> None:
        super().__init__(option_strings, argparse.SUPPRESS, nargs=0, default=argparse.SUPPRESS, help=help)

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        print(f"parity {__version__}")
        parser.exit()


def _folded(text: str) -> str:
    """Paragraphs as wide as the terminal; what is indented stays as it is."""
    width = min(shutil.get_terminal_size().columns, 120)
    parts = text.split("\n\n")
    return "\n\n".join(each if "\n " in f"\n{each}" else textwrap.fill(each, width) for each in parts)


class _Plain(argparse.RawDescriptionHelpFormatter):
    """Help as rich_argparse writes it, without colours: importing Rich would take as long as all else."""

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
    """The formatter of help: with colours on a terminal, or where these variables ask Rich for them."""
    if not (sys.stdout and sys.stdout.isatty()) and not {"FORCE_COLOR", "TTY_COMPATIBLE"} & os.environ.keys():
        return _Plain
    from rich_argparse import RawDescriptionRichHelpFormatter

    RawDescriptionRichHelpFormatter.help_markup = RawDescriptionRichHelpFormatter.text_markup = False  # [tool.parity]
    return RawDescriptionRichHelpFormatter


def parser(argv: Sequence[str]) -> argparse.ArgumentParser:
    """The parser for these arguments: it has all commands, and the options of the one that they name."""
    formatter = _formatter()
    found = _Parser(
        "parity",
        description="Does a HIP port compute what the CUDA kernels compute, value by value?",
        formatter_class=formatter,
        allow_abbrev=False,
    )
    found.add_argument("--version", action=_Version, help="show program's version number and exit")
    found.add_argument(
        "--print-completion",
        action=_PrintCompletion,
        choices=("bash", "zsh", "fish"),
        help="print what makes this shell complete commands, options, targets, runners and ops",
    )
    # With its name, for which argparse would format a usage, with all of Rich.
    commands = found.add_subparsers(title="commands", metavar="COMMAND", required=True, prog=found.prog)
    for name in COMMANDS:
        file = name.replace("-", "_")
        with Path(__file__).with_name(f"{file}.py").open(encoding="utf-8") as source:
            summary = source.readline().strip().strip('"')
        command = commands.add_parser(
            name,
            help=summary,
            formatter_class=formatter,
            allow_abbrev=False,
        )
        if name in argv:  # what the others need is not imported
            module = importlib.import_module(f"parity.cli.{file}")
            command.description = _folded((module.__doc__ or summary).strip())
            module.options(command)
            command.epilog = command.epilog and _folded(command.epilog)
            command.set_defaults(command=module.main)
    return found
