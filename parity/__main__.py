"""``parity`` and ``python -m parity``."""

import gc
import signal
import sys

from parity.platform.signals import INTERRUPTS
from parity.platform.supervision import run_supervised

REPLACED = "exec"
"""The command whose process becomes another program, and so does not return a result. It loads no case files."""


def main() -> int:
    """Run parity with the arguments of the process; the exit code."""
    if sys.argv[1:2] != [REPLACED]:
        return run_supervised(_run_command)
    signal.pthread_sigmask(signal.SIG_BLOCK, INTERRUPTS)
    return _run_command()


def _run_command() -> int:
    # Signals stay blocked until the command handles them: during imports, an interrupt would print a traceback.
    gc.disable()  # imported objects are kept anyway; the command enables it again
    from parity.cli import main as command

    return command()


if __name__ == "__main__":
    sys.exit(main())
