"""Measures the emulator with all checks: ``python -m benchmarks.checked [WORD...] [--against CHECKOUT]``.

For each case of ``benchmarks.emulator`` whose text contains one of the words: the wavefront instructions (warp
instructions for sm_90) of a launch, and millions of them per second of one processor, the best of several launches.
``--against`` measures another checkout of parity in alternation; the last column is the ratio.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.emulator import BENCHMARKS, LAYOUTS, Emulated
from parity.build.modules import build
from parity.compilers.targets import DEFAULT_TARGETS
from parity.compilers.targets import target as target_of
from parity.emulator.amdgpu.device import AmdgpuDevice
from parity.emulator.ptx.device import PtxDevice
from parity.platform.cache import Cache, default_root
from parity.suite.loading import find_suite
from parity.suite.options import names

HERE = Path(__file__).resolve()
TURNS, REPEATS = 3, 7

Rates = dict[str, tuple[int, float]]
"""By title: the instructions of a launch, and the seconds of a processor that it takes."""


def measured(target: str, words: Sequence[str]) -> Rates:
    """The rates of the parity that is imported, whose checkout is the current folder."""
    suite, cache = find_suite(Path.cwd()), Cache(default_root() / "emulator")
    kind = PtxDevice if target_of(target).vendor == "cuda" else AmdgpuDevice
    chosen = [each for each in (*BENCHMARKS, *LAYOUTS) if not words or any(word in each.case for word in words)]
    modules = dict.fromkeys(each.case.partition(".")[0] for each in chosen)
    codes = {built.module: built.code_object for built in build(suite.kernels, list(modules), [target])}
    found: Rates = {}
    for each in chosen:
        code = codes[each.case.partition(".")[0]]
        assert code is not None
        work, times = Emulated(kind(traced=True, cache=cache), code, each.call(suite)), []
        for _ in range(1 + REPEATS):
            start = time.process_time()
            stats = work.launch()
            times.append(time.process_time() - start)
        found[each.title] = stats.instructions, min(times[1:])
    return found


def of_checkout(checkout: Path, target: str, words: Sequence[str]) -> Rates:
    """The rates of a checkout, measured in a separate process."""
    command = [sys.executable, str(HERE), "--target", target, "--json", *words]
    environment = {**os.environ, "PYTHONPATH": str(checkout)}
    done = subprocess.run(command, cwd=checkout, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    return {title: tuple(rate) for title, rate in json.loads(done.stdout).items()}


def main() -> None:
    """Print a line for each case."""
    parser = argparse.ArgumentParser("python -m benchmarks.checked", description=__doc__)
    parser.add_argument("words", nargs="*", metavar="WORD", help="parts of cases; default: all cases")
    usual = f"default: {' '.join(DEFAULT_TARGETS)}"
    parser.add_argument("--target", type=names, default=DEFAULT_TARGETS, metavar="T,..", help=usual)
    parser.add_argument("--against", type=Path, metavar="CHECKOUT", help="another checkout of parity")
    parser.add_argument("--json", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.json:
        print(json.dumps(measured(options.target[0], options.words)))
        return
    checkouts = [each.resolve() for each in (options.against, HERE.parents[1]) if each]
    for target in options.target:
        turns = [[of_checkout(each, target, options.words) for each in checkouts] for _ in range(TURNS)]
        print(f"\n{target:36}{'instructions':>14}{'M/s':>9}{'M/s':>9}")
        ratios = []
        for title, (instructions, _) in turns[0][0].items():
            best = [min(turn[i][title][1] for turn in turns) for i in range(len(checkouts))]
            ratios.append(best[0] / best[-1])
            rates = "".join(f"{instructions / seconds / 1e6:9.1f}" for seconds in best)
            ratio = f"{ratios[-1]:8.2f}" if options.against else ""
            print(f"{title:36}{instructions:14,}{rates}{ratio}", flush=True)
        if options.against:
            print(f"{'geometric mean':68}{math.prod(ratios) ** (1 / len(ratios)):8.2f}", flush=True)


if __name__ == "__main__":
    main()
