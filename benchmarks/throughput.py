"""Measures cases per second and memory of warm runs: ``python -m benchmarks.throughput [SELECTOR...] [--target T,..]``.

The first run of each fills the caches and does not count. Memory is the largest sum of the resident sets of the
process and its workers, sampled every 50 ms (shared pages count more than once).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

from parity.compilers.targets import DEFAULT_TARGETS

EXAMPLES = (20, 60)
REPEATS = 2
LAUNCH = "unary.neg[f32](x=256~normal@0)"


def measure(arguments: list[str]) -> tuple[float, float, dict[str, float]]:
    """Wall seconds, MiB and the totals of one run."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "parity", "run", "--json", "--output", folder, *arguments]
        start = time.perf_counter()
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            most = 0
            while process.poll() is None:
                most = max(most, _resident(process.pid))
                time.sleep(0.05)
        seconds = time.perf_counter() - start
        if process.returncode not in (0, 1):
            raise SystemExit(f"{' '.join(command)} left with {process.returncode}")
        return seconds, most / 2**20, json.loads(Path(folder, "matrix.json").read_text())


def _resident(pid: int) -> int:
    total = 0
    try:
        family = [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
    except psutil.NoSuchProcess:
        return 0
    for process in family:
        try:
            total += process.memory_info().rss
        except psutil.NoSuchProcess:
            continue
    return total


def main() -> None:
    """Print a line per measurement: the best of some warm runs."""
    parser = argparse.ArgumentParser("python -m benchmarks.throughput", description=__doc__)
    parser.add_argument("selectors", nargs="*", metavar="SELECTOR", help="as for parity run; default: all")
    parser.add_argument("--target", default=",".join(DEFAULT_TARGETS), metavar="T,..", help="default: %(default)s")
    options = parser.parse_args()
    plans = [(f"{n} examples", [*options.selectors, "--examples", str(n)]) for n in EXAMPLES]
    for title, chosen in [("one launch", [LAUNCH]), *plans]:
        arguments = [*chosen, "--target", options.target]
        measure(arguments)
        seconds, memory, totals = min((measure(arguments) for _ in range(REPEATS)), key=lambda result: result[0])
        cases = totals["cases"]
        print(
            f"{title:<13} {cases:>6} cases  {seconds:7.2f} s in all  {cases / seconds:7.1f} cases/s  {memory:6.0f} MiB"
        )


if __name__ == "__main__":
    main()
