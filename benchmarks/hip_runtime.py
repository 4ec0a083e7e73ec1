"""Measures AMD's HIP runtime on an emulated GPU: initialization, launches, and an sgemm of rocBLAS.

    nox -s rocm-root -- --install librocblas-dev python -m benchmarks.hip_runtime [--target gfx90a] [--size 512]

Prints wall-clock times, and the processor time of both processes. The emulator runs unchecked and with all checks but
unwritten bytes. Needs an installed ROCm 7 with rocBLAS.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import itertools
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from parity.report.bench import si

LAUNCHES = 1000
_CHILD_SUBREAPER = 36  # of linux/prctl.h


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser("python -m benchmarks.hip_runtime", description=__doc__)
    parser.add_argument("--target", default="gfx90a")
    parser.add_argument("--size", type=int, default=512, metavar="N", help="rows and columns of the matrices")
    options = parser.parse_args(arguments)
    ctypes.CDLL(None).prctl(_CHILD_SUBREAPER, 1)  # the program does not wait for the emulator's process
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "program")
        source = Path(__file__).with_suffix(".hip")
        flags = ["-O2", f"--offload-arch={options.target}", "-lrocblas"]
        subprocess.run(["hipcc", source, "-o", program, *flags], check=True)
        runs = {"initialization": (0, 0), "launches": (LAUNCHES, 0), f"sgemm of {options.size}": (0, options.size)}
        for checks, (title, numbers) in itertools.product(("none", "initialized"), runs.items()):
            command = [sys.executable, "-m", "parity", "exec", "--target", options.target, "--check", checks, "--"]
            before = _processor_seconds()
            ran = subprocess.run([*command, program, *map(str, numbers)], stdout=subprocess.PIPE, check=True)
            used = _processor_seconds() - before
            times = ", ".join(f"{name} {si(value, 's')}" for name, value in json.loads(ran.stdout).items())
            print(f"--check {checks}: {title}: {times}; {used:.2f} s of processor time in all", flush=True)
    return 0


def _processor_seconds() -> float:
    """Return the processor time of all ended children, after waiting for them."""
    with contextlib.suppress(ChildProcessError):
        while True:
            os.wait()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    sys.exit(main())
