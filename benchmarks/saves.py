"""Measures commands that users run at every save: ``python -m benchmarks.saves [SELECTOR...] [--against CHECKOUT]``.

The commands are ``--version``, ``--help`` and a warm run. The results are elapsed seconds, processor seconds of all
started processes, and multiples of a bare start of Python. ``--against`` measures another checkout of parity in
alternation, because the load of a machine changes from minute to minute; the ratios are ratios of the sums.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

TURNS = 3
STARTS = 10
"""Starts of a short command that are measured as one."""


@dataclass(frozen=True)
class Cost:
    """Seconds, and seconds of processors."""

    wall: float
    processors: float

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.wall + other.wall, self.processors + other.processors)


NOTHING = Cost(0.0, 0.0)


def cost(arguments: Sequence[str], checkout: Path, times: int = 1) -> Cost:
    """The mean cost of a command of Python in a checkout."""
    total = NOTHING
    for _ in range(times):
        start = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, *arguments],
            cwd=checkout,
            env={**os.environ, "PYTHONPATH": str(checkout)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"{' '.join(arguments)} in {checkout} left with {process.returncode}")
        total += Cost(time.perf_counter() - start, used.ru_utime + used.ru_stime)
    return Cost(total.wall / times, total.processors / times)


def main() -> None:
    """Print a line for each command, and for each checkout."""
    parser = argparse.ArgumentParser("python -m benchmarks.saves", description=__doc__)
    parser.add_argument("selectors", nargs="*", metavar="SELECTOR", default=["unary.gelu"], help="default: %(default)s")
    parser.add_argument("--target", metavar="T,..", help="as for parity run")
    parser.add_argument("--against", type=Path, metavar="CHECKOUT", help="another checkout of parity")
    parser.add_argument("--turns", type=int, default=TURNS, help="default: %(default)s")
    options = parser.parse_args()
    checkouts = [each.resolve() for each in (options.against, Path(__file__).parents[1]) if each]
    target = ["--target", options.target] if options.target else []
    with tempfile.TemporaryDirectory() as folder:
        run = ["-m", "parity", "run", *options.selectors, *target, "--output", folder]
        commands = {
            "python": (["-c", "pass"], STARTS),
            "parity --version": (["-m", "parity", "--version"], STARTS),
            "parity --help": (["-m", "parity", "--help"], STARTS),
            f"parity run {' '.join(options.selectors)}": (run, 1),
        }
        for checkout in checkouts:
            cost(run, checkout)  # which fills the caches
        for title, (arguments, times) in commands.items():
            sums = dict.fromkeys(checkouts, NOTHING)
            for _ in range(options.turns):
                for checkout in checkouts:
                    sums[checkout] += cost(arguments, checkout, times)
            if title == "python":
                bare = {checkout: each.processors for checkout, each in sums.items()}
            for checkout, each in sums.items():
                first = sums[checkouts[0]]
                ratio = f"  {each.wall / first.wall:.2f} {each.processors / first.processors:.2f} of the other"
                print(
                    f"{title:32}{each.wall / options.turns:8.3f} s{each.processors / options.turns:8.3f} s of CPU"
                    f"{each.processors / bare[checkout]:7.1f} starts{'' if each is first else ratio}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
