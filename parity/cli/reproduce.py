"""Write a folder that reproduces a case without parity and without Python, to attach to a bug report.

The folder contains the kernel's source for CUDA and for HIP as built, a program for each side, inputs, expected values
and error bounds, a Makefile with the nvcc and hipcc command lines, and a README with the results. To get the results,
the command executes the case once. Exit code: 0 written, and with --check its HIP side is right on the emulator; 1 it
is wrong there; 2 wrong usage, or the case cannot be reproduced alone; 3 no runner works here, or nothing defines the
right values.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from parity.application.reproducer import Reproducer, make_reproducer
from parity.cli.shared.inputs import load_suite
from parity.cli.shared.terminal import output, warn
from parity.errors import MissingTool, UsageError
from parity.hip.library import environment


def main(arguments: argparse.Namespace) -> int:
    suite = load_suite(arguments)
    chosen = {"runners": arguments.runner, "targets": arguments.target, "checked": arguments.checked}
    made = make_reproducer(suite, arguments.case, **chosen)
    made.write(arguments.output)
    warn(*made.notes)
    output().print(f"{len(made.files)} files of {made.case} in {arguments.output}; next: its README.md")
    return _check(made) if arguments.check else 0


def _check(made: Reproducer) -> int:
    """Build and run the HIP side in another folder, and return its exit code.

    Raises:
        UsageError: the HIP side is missing or does not build.
        MissingTool: make is not installed.
    """
    if not made.target:
        raise UsageError("--check builds the HIP side, but this case has none")
    with tempfile.TemporaryDirectory(prefix="parity-reproducer-") as folder:
        made.write(Path(folder))
        hipcc = f"{shlex.quote(sys.executable)} -m parity.hip.hipcc"
        path = os.pathsep.join(filter(None, sys.path))
        hip = environment([made.target])
        found = {**os.environ, **hip, "HIPCC": hipcc, "PYTHONPATH": path, "LIBRARY_PATH": hip["LD_LIBRARY_PATH"]}
        try:
            make = ["make", "--silent", "hip"]
            done = subprocess.run(make, cwd=folder, env=found, capture_output=True, text=True, check=False)
        except FileNotFoundError as error:
            raise MissingTool("make", "PATH", "apt-get install make") from error
        if done.returncode:
            raise UsageError(f"the HIP side does not build:\n{done.stdout}{done.stderr}")
        sys.stdout.flush()
        return subprocess.run([Path(folder, "reproduce_hip")], cwd=folder, env=found, check=False).returncode
