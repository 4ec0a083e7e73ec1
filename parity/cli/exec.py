"""Run a program that uses HIP's module API without a GPU, or print the environment for it.

    eval "$(parity exec --target gfx90a)"
    parity exec --target gfx1100,gfx1100 -- python my_program.py

The program loads a libamdhip64 that executes kernels in the emulator, on GPUs of the given targets, and checks every
memory access. It reports a kernel's errors on standard error, and every later call returns the error.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil

from parity.cli.shared.terminal import errors, print_json
from parity.compilers.targets import DEFAULT_TARGETS, TARGETS
from parity.errors import UsageError, nearest
from parity.hip.faults import PlantedFault
from parity.hip.library import LIMITATIONS as EPILOG
from parity.hip.library import environment


def main(arguments: argparse.Namespace) -> int:
    """Print the environment, or replace this process with the program.

    Raises:
        UsageError: a target or error is unknown, or the program does not exist.
    """
    targets = arguments.target or DEFAULT_TARGETS
    for name in targets:
        if name not in TARGETS:
            raise UsageError(f"{name!r} is not an emulated target; known: {' '.join(TARGETS)}{nearest(name, TARGETS)}")
    for fault in arguments.faults:
        PlantedFault.parse(fault)
    found = environment(targets, memory=arguments.memory, faults=arguments.faults)
    if arguments.program:
        path = shutil.which(arguments.program[0])
        if path is None:
            raise UsageError(f"no program {arguments.program[0]!r}; name a file, or one that is on PATH")
        os.execve(path, arguments.program, {**os.environ, **found})
    if arguments.json:
        print_json(found)
        return 0
    for name, value in found.items():
        print(f"export {name}={shlex.quote(value)}")
    errors().print(EPILOG.strip(), style="dim")
    return 0
