"""``parity`` and ``python -m parity``."""

import gc
import signal
import sys

from parity.platform.signals import INTERRUPTS


def main() -> int:
    """Run parity with the arguments of the process; the exit code."""
    # While it is imported, an interrupt would show a traceback; the command lets them through when it handles them.
    signal.pthread_sigmask(signal.SIG_BLOCK, INTERRUPTS)
    gc.disable()  # what is imported stays; the command looks for garbage from then on
    from parity.cli import main as command

    return command()


if __name__ == "__main__":
    sys.exit(main())
