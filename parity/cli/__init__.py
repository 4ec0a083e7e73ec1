"""The command line ``parity COMMAND``.

The module ``parity.cli.<command>`` implements each command: ``main(arguments)`` runs it and returns the exit code, and
the docstring of the module is its help. The table ``parity/suite/options.csv`` declares the options of all commands,
and ``parity.cli.shared`` holds the common code.
"""

from __future__ import annotations

import contextlib
import gc
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from types import FrameType

from parity.cli.shared.parser import WRONG_USAGE, build_parser
from parity.errors import SYSTEM_ERRORS, NotAvailable, ParityError, UsageError, describe_os_error
from parity.platform.signals import INTERRUPTED, delay_interrupts

EXECUTING = ("run", "watch", "record", "mutate", "bench", "coverage")
"""Commands that execute cases in processes of this machine, unless the user names a cluster."""

TERMINATED = 143
REPEATED = 0.5
"""Seconds in which a second Ctrl-C is the same one: ``parity.platform.supervision`` forwards it to this process, and a
signal to the whole process group arrives directly as well.
"""
BROKEN_PIPE = 141


def main(argv: Sequence[str] | None = None) -> int:
    """Run parity with these arguments (default: ``sys.argv``), and return the exit code.

    0: everything passed. 1: a failure. 2: wrong usage. 3: nothing was run, or something is not available. 130:
    interrupted. 143: terminated (SIGTERM); the reports are then written as after an interrupt.
    """
    _replace_closed_streams()
    try:
        with _signals(restored=argv is not None) as terminated:
            code = _main(argv)
            return TERMINATED if terminated and code == INTERRUPTED else code
    except KeyboardInterrupt:  # a second one
        return INTERRUPTED


def _replace_closed_streams() -> None:
    """Open the null device for standard streams that are closed (``>&-``).

    Otherwise the next file that parity opens would receive what a subprocess prints.
    """
    for descriptor, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest free number
        if getattr(sys, name) is None:
            stream = os.fdopen(descriptor, "w" if descriptor else "r", encoding="utf-8", closefd=False)
            setattr(sys, name, stream)


def _main(argv: Sequence[str] | None) -> int:
    logging.basicConfig(format="parity: %(message)s", level=logging.WARNING, force=True)
    logging.getLogger("parity").setLevel(logging.INFO)
    try:
        return _run_command(argv)
    except ParityError as error:
        _print_error(f"parity: {error}")
        return error.exit_code or WRONG_USAGE  # a case file may have set it to 0
    except MemoryError:
        _print_error("parity: there is not enough memory for this")
        return NotAvailable.exit_code
    except KeyboardInterrupt:
        _print_error("parity: interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        # The reader has closed the pipe. Without this, the interpreter would print an error when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except OSError as error:
        _print_error(f"parity: {describe_os_error(error)}")
        return NotAvailable.exit_code if error.errno in SYSTEM_ERRORS else WRONG_USAGE
    except SystemExit as leaving:
        _print_error(f"parity: imported code ended the process (exit code {leaving.code}); nothing is proven")
        return WRONG_USAGE
    except Exception as error:
        from parity.platform.integrity import cause_of_error

        if not (replaced := cause_of_error()):
            raise
        _print_error(f"parity: {type(error).__name__}: {error}; a case file replaces {replaced}, which parity needs")
        return WRONG_USAGE


def _run_command(given: Sequence[str] | None) -> int:
    argv = sys.argv[1:] if given is None else given
    for argument in argv:
        if not _is_text(argument):
            raise UsageError(f"the argument {argument!r} is not UTF-8; rename a file with such a name")
    # Some packages claim to be missing if a signal interrupts their import.
    with delay_interrupts():
        parser = build_parser(argv)
    if not argv:
        parser.print_help()
        return WRONG_USAGE
    try:
        arguments = parser.parse_args(argv)
    except SystemExit as leaving:  # help, version or wrong usage
        return leaving.code if isinstance(leaving.code, int) else WRONG_USAGE
    if not gc.isenabled():  # disabled at the start of the process
        gc.freeze()
        gc.enable()
    if given is None and argv[0] in EXECUTING and not arguments.cluster:
        from parity.platform.fork_server import fork_server

        fork_server()
    for option in ("toolchain", "hipify"):
        if value := getattr(arguments, option, None):
            from parity.compilers.rocm import VARIABLE
            from parity.porting import HIPIFY

            os.environ[VARIABLE if option == "toolchain" else HIPIFY] = value
    if paths := getattr(arguments, "rocm", None):
        from parity.compilers.toolchain import ROCM, as_variable

        os.environ[ROCM] = as_variable(paths)
    if (color := getattr(arguments, "color", "auto")) != "auto":
        os.environ["TTY_COMPATIBLE"] = "1" if color == "always" else "0"  # Rich reads it
    code: int = arguments.command(arguments)
    problems: tuple[str, ...] = getattr(arguments, "problems", ())
    if problems and not code:
        code = WRONG_USAGE  # no case failed, but a part of the suite could not be used
    sys.stdout.flush()
    return code


@contextlib.contextmanager
def _signals(*, restored: bool) -> Iterator[list[int]]:
    """Let SIGTERM interrupt like Ctrl-C and add it to the yielded list. Further SIGTERMs are ignored.

    ``restored`` is False if the process ends afterwards: the signals then stay ignored, because an interrupt while
    Python exits would print a traceback.
    """
    terminated: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield terminated
        return
    met: list[float] = []

    def interrupt(number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if met and (number == signal.SIGTERM or now - met[-1] < REPEATED):
            return
        met.append(now)
        if number == signal.SIGTERM:
            terminated.append(number)
        raise KeyboardInterrupt

    usual = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
    # Signals that were ignored before stay ignored, for nohup.
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


def _print_error(text: str) -> None:
    from parity.cli.shared.terminal import errors

    errors().print(text, style="red")
