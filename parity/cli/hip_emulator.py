"""Print the environment in which any program of HIP's module API runs without a GPU, or run one in it.

    eval "$(parity hip-emulator --target gfx90a)"
    parity hip-emulator --target gfx1100,gfx1100 -- python my_program.py

The program finds a libamdhip64 that runs kernels in the emulator: with every memory access checked, on GPUs of the
targets that you name. What a kernel does wrong is told on standard error, and stays as the error of every later call.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil

from parity.cli.options import add_json, names
from parity.cli.terminal import errors, print_json
from parity.compilers.targets import DEFAULT_TARGETS, TARGETS
from parity.errors import UsageError, nearest
from parity.hip import LIMITATIONS, environment
from parity.hip.faults import PlantedFault

__all__ = ["main", "options"]

_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30}


def options(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.epilog = LIMITATIONS
    parser.add_argument(
        "--target",
        type=names,
        action="extend",
        metavar="T,..",
        help=f"the GPUs that the program finds, in this order (default: {','.join(DEFAULT_TARGETS)})",
    )
    parser.add_argument(
        "--memory", type=_size, metavar="BYTES", help="device memory of all GPUs together, such as 64M (default: 4G)"
    )
    parser.add_argument(
        "--fault",
        dest="faults",
        action="append",
        default=[],
        metavar="API=ERROR[@N]",
        help="let a function fail, such as hipMalloc=hipErrorOutOfMemory@3 for its third call; the error 'exit' ends "
        "the device",
    )
    add_json(parser)
    parser.add_argument("program", nargs="*", metavar="-- PROGRAM", help="run this, with its arguments")


def main(arguments: argparse.Namespace) -> int:
    """Print the environment, or become the program.

    Raises:
        UsageError: an unknown target or error, or no such program.
    """
    targets = arguments.target or DEFAULT_TARGETS
    for name in targets:
        if name not in TARGETS:
            raise UsageError(f"no emulated GPU is {name!r}; known: {' '.join(TARGETS)}{nearest(name, TARGETS)}")
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
