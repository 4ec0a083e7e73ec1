"""The command line, ``parity COMMAND``: a module for each command."""

from __future__ import annotations

import argparse
import importlib
import logging
import os
import sys
from collections.abc import Sequence

import parity
from parity.errors import ParityError

__all__ = ["main"]

COMMANDS = ("init", "run", "record", "bench", "list", "show", "build", "static", "doctor", "hip-emulator")
WRONG_USAGE = 2
INTERRUPTED = 130
BROKEN_PIPE = 141


def main(argv: Sequence[str] | None = None) -> int:
    """Run parity with these arguments (default: those of the process); the exit code.

    0 all passed, 1 a failure, 2 wrong usage, 3 nothing was run or what was asked for is not available, 130 interrupted.
    """
    logging.basicConfig(format="parity: %(message)s", level=logging.WARNING, force=True)
    logging.getLogger("parity").setLevel(logging.INFO)
    try:
        try:
            arguments = _parser().parse_args(argv)
        except SystemExit as leaving:  # help, version, wrong usage; nothing else may end parity
            return leaving.code if isinstance(leaving.code, int) else WRONG_USAGE
        for option in ("toolchain", "hipify"):
            if given := getattr(arguments, option, None):
                from parity.toolchain import HIPIFY, VARIABLE

                os.environ[VARIABLE if option == "toolchain" else HIPIFY] = given
        code: int = arguments.command(arguments)
        problems: tuple[str, ...] = getattr(arguments, "problems", ())
        if problems and not code:
            code = WRONG_USAGE  # all that could be used is well, but a part of the suite could not
        sys.stdout.flush()
    except ParityError as error:
        _say(f"parity: {error}")
        return error.exit_code
    except KeyboardInterrupt:
        _say("parity: interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read the output has left; without this the interpreter would complain when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except SystemExit as leaving:
        _say(f"parity: something that was imported ended the process (exit code {leaving.code}); nothing is proven")
        return WRONG_USAGE
    return code


def _say(text: str) -> None:
    from parity.cli.terminal import errors

    errors().print(text, style="red")


def _parser() -> argparse.ArgumentParser:
    # Imported here and not at the top: it takes half a second, in which an interrupt must not show a traceback.
    from rich_argparse import RawDescriptionRichHelpFormatter

    parser = argparse.ArgumentParser(
        "parity",
        description="Does a HIP port compute what the CUDA kernels compute, value by value?",
        formatter_class=RawDescriptionRichHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"parity {parity.__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name in COMMANDS:
        module = importlib.import_module(f"parity.cli.{name.replace('-', '_')}")
        text = (module.__doc__ or "").strip()
        command = commands.add_parser(
            name,
            help=text.splitlines()[0],
            description=text,
            formatter_class=RawDescriptionRichHelpFormatter,
            allow_abbrev=False,
        )
        module.options(command)
        command.set_defaults(command=module.main)
    return parser
