"""``parity`` and ``python -m parity``."""

import gc
import sys

from parity.platform.supervision import run_supervised


def main() -> int:
    """Run parity with the arguments of the process; the exit code."""
    return run_supervised(_run_command)


def _run_command() -> int:
    # Signals stay blocked until the command handles them: during imports, an interrupt would print a traceback.
    gc.disable()  # imported objects are kept anyway; the command enables it again
    from parity.cli import main as command

    return command()


if __name__ == "__main__":
    sys.exit(main())
