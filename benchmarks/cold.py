"""Measures each module with an empty cache, and again: ``python -m benchmarks.cold [SELECTOR...] [--target T,..]``.

The first run of a module starts with an empty cache: it hipifies and compiles for every target, translates the
compiled code, and runs the default cases. The second run finds all of that in the cache. Ratios relate to the whole
suite, so that a module that costs more than its share of the kernels shows.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from parity.compilers.targets import DEFAULT_TARGETS
from parity.suite.loading import find_suite


@dataclass(frozen=True)
class Cost:
    """Kernels and cases of a module, and seconds of its first run and of its second."""

    module: str
    kernels: int
    cases: int
    cold: float
    warm: float


def cost(module: str, targets: str) -> Cost:
    """Run a module twice, with a separate cache."""
    with tempfile.TemporaryDirectory() as folder:
        arguments = ["run", module, "--target", targets, "--json", "--output", folder]
        seconds = []
        for _ in range(2):
            start = time.perf_counter()
            done = subprocess.run(
                [sys.executable, "-m", "parity", *arguments],
                env={**os.environ, "XDG_CACHE_HOME": f"{folder}/cache"},
                capture_output=True,
                check=False,
            )
            seconds.append(time.perf_counter() - start)
            if done.returncode not in (0, 1):
                raise SystemExit(f"parity {' '.join(arguments)}: {done.stderr.decode()}")
        totals = json.loads(Path(folder, "matrix.json").read_text())
    return Cost(module, totals["kernels_total"], totals["cases"], *seconds)


def main() -> None:
    """Print a line per module, and their sum."""
    suite = find_suite()
    parser = argparse.ArgumentParser("python -m benchmarks.cold", description=__doc__)
    parser.add_argument("selectors", nargs="*", metavar="SELECTOR", help="as for parity run; default: every module")
    parser.add_argument("--target", default=",".join(DEFAULT_TARGETS), metavar="T,..", help="default: %(default)s")
    options = parser.parse_args()
    costs = []
    print(f"{'module':12}{'kernels':>9}{'cases':>8}{'from nothing':>14}{'again':>9}")
    for module in options.selectors or suite.modules:
        costs.append(cost(module, options.target))
        _print(costs[-1])
    _print(Cost("all", *(sum(getattr(each, name) for each in costs) for name in ("kernels", "cases", "cold", "warm"))))
    for each in costs:
        share = each.cold / sum(other.cold for other in costs)
        of_kernels = each.kernels / sum(other.kernels for other in costs)
        print(f"{each.module:12}{100 * share:4.0f} % of the time, {100 * of_kernels:4.0f} % of the kernels")


def _print(cost: Cost) -> None:
    print(f"{cost.module:12}{cost.kernels:>9}{cost.cases:>8}{cost.cold:>12.1f} s{cost.warm:>7.1f} s", flush=True)


if __name__ == "__main__":
    main()
