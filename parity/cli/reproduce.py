"""Write a folder that reproduces a case without parity and without Python, to be attached to a report of a bug.

It has the kernel's source for CUDA and for HIP as they are built, a program for each side, inputs, expected values and
what is allowed, a Makefile with the lines of nvcc and hipcc, and a README with what was seen where: for that the case
is executed once. Exit code: 0 the folder is written, and with --check its HIP side is right on the emulator; 1 it is
wrong there; 2 wrong usage, or a case that cannot be reproduced alone; 3 no runner can work here, or nothing says what
is right.
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
from parity.cli.options import add_folders, suite_of
from parity.cli.terminal import output, warn
from parity.errors import MissingTool, UsageError
from parity.hip import environment
from parity.suite.options import declare

__all__ = ["main", "options"]


def options(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("case", metavar="CASE", help="a case as parity prints it, in quotes")
    declare(
        parser.add_argument, "output", "-o", "--output", type=Path, default=Path("reproducer"),
        help="the folder, which must not be there yet (default: %(default)s)",
    )  # fmt: skip
    declare(parser.add_argument, "target")
    declare(parser.add_argument, "runner")
    declare(parser.add_argument, "launches", help="accepted as parity run has it; a case has its launch")
    parser.add_argument(
        "--check", action="store_true", help="build the HIP side from the folder alone, and run it on the emulator"
    )
    parser.add_argument("--no-check-memory", dest="checked", action="store_false", help="as parity run has it")
    add_folders(parser)


def main(arguments: argparse.Namespace) -> int:
    """Write the folder, and run it if that is asked for."""
    suite = suite_of(arguments)
    made = make_reproducer(
        suite, arguments.case, runners=arguments.runner, targets=arguments.target, checked=arguments.checked
    )
    made.write(arguments.output)
    warn(made.notes)
    output().print(f"{len(made.files)} files of {made.case} in {arguments.output}; next: its README.md")
    return _check(made) if arguments.check else 0


def _check(made: Reproducer) -> int:
    """The exit code of the program of the HIP side, built in another folder.

    Raises:
        UsageError: there is no HIP side, or it does not build.
        MissingTool: there is no make.
    """
    if not made.target:
        raise UsageError("--check builds the HIP side, and there is none")
    with tempfile.TemporaryDirectory(prefix="parity-reproducer-") as folder:
        made.write(Path(folder))
        hipcc = f"{shlex.quote(sys.executable)} -m parity.hip.hipcc"
        path = os.pathsep.join(filter(None, sys.path))
        found = {**os.environ, **environment([made.target]), "HIPCC": hipcc, "PYTHONPATH": path}
        try:
            done = subprocess.run(
                ["make", "--silent", "hip"], cwd=folder, env=found, capture_output=True, text=True, check=False
            )
        except FileNotFoundError as error:
            raise MissingTool("make", "PATH", "apt-get install make") from error
        if done.returncode:
            raise UsageError(f"the HIP side does not build:\n{done.stdout}{done.stderr}")
        sys.stdout.flush()
        return subprocess.run([Path(folder, "reproduce_hip")], cwd=folder, env=found, check=False).returncode
