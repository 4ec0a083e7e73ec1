"""Run a program that uses HIP's module API without a GPU, or print the environment for it.

    eval "$(parity hip-emulator --target gfx90a)"
    parity hip-emulator --target gfx1100,gfx1100 -- python my_program.py

The program loads a libamdhip64 that executes kernels in the emulator, on GPUs of the given targets, and checks every
memory access. It reports a kernel's errors on standard error, and every later call returns the error.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil

from parity.cli.shared.options import add_json
from parity.cli.shared.terminal import errors, print_json
from parity.compilers.targets import DEFAULT_TARGETS, TARGETS
from parity.errors import UsageError, nearest
from parity.hip.faults import PlantedFault
from parity.hip.library import LIMITATIONS, environment
from parity.suite.options import names

_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30}


def options(parser: argparse.ArgumentParser) -> None:
    parser.epilog = LIMITATIONS
    parser.add_argument(
        "--target",
        type=names,
        action="extend",
        metavar="T,..",
        help=f"targets of the GPUs that the program finds, in this order (default: {','.join(DEFAULT_TARGETS)})",
    )
    parser.add_argument(
        "--memory", type=_size, metavar="BYTES", help="total device memory of all GPUs, for example 64M (default: 4G)"
    )
    parser.add_argument(
        "--fault",
        dest="faults",
        action="append",
        default=[],
        metavar="API=ERROR[@N]",
        help="make a function fail: hipMalloc=hipErrorOutOfMemory@3 fails its third call, the error 'exit' stops "
        "the device; may be repeated",
    )
    add_json(parser)
    parser.add_argument("program", nargs="*", metavar="-- PROGRAM", help="program to run, with its arguments")


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
    errors().print(LIMITATIONS.strip(), style="dim")
    return 0


def _size(text: str) -> int:
    match = re.fullmatch(r"(\d+)([KMG]?)i?B?", text)
    if not match or not int(match[1]):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of bytes such as 4096, 64M or 2G")
    return int(match[1]) * _UNITS[match[2]]
