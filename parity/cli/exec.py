"""Run a ROCm program without a GPU, or print the environment for it.

    eval "$(parity exec --target gfx90a)"
    parity exec --target gfx1100,gfx1100 -- ./my_program

The program loads AMD's HIP runtime of an installed ROCm 7, whose GPUs are emulated. Without such a ROCm it loads
parity's own libamdhip64, which has HIP's module API only. The emulator checks every memory access of a kernel and
reports a kernel's errors on standard error. Every later call returns the error.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
from collections.abc import Mapping

from parity.cli.shared.terminal import errors, print_json
from parity.compilers.targets import DEFAULT_TARGETS, TARGETS
from parity.errors import MissingTool, UsageError, nearest
from parity.hip import library as hip_library
from parity.hip.faults import PlantedFault
from parity.hip.library import LIMITATIONS as EPILOG
from parity.hsa import library as hsa_library


def main(arguments: argparse.Namespace) -> int:
    """Print the environment, or replace this process with the program.

    Raises:
        UsageError: a target or error is unknown, or the program or the HIP runtime in ``--rocm`` does not exist.
        MissingTool: an option needs AMD's HIP runtime, which is not installed.
    """
    found = _environment(arguments)
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


def _environment(arguments: argparse.Namespace) -> Mapping[str, str]:
    """Return the variables that make a program run on AMD's runtime, or on parity's own."""
    targets = arguments.target or DEFAULT_TARGETS
    for name in targets:
        if name not in TARGETS:
            raise UsageError(f"{name!r} is not an emulated target; known: {' '.join(TARGETS)}{nearest(name, TARGETS)}")
    for fault in arguments.faults:
        PlantedFault.parse(fault)
    if arguments.faults and arguments.runtime:
        raise UsageError("--fault plants errors in parity's own libamdhip64, which --rocm replaces; name one of them")
    runtime = None if arguments.faults else hsa_library.hip_runtime(arguments.runtime)
    if runtime is not None:
        return hsa_library.environment(
            runtime,
            targets,
            memory=arguments.memory,
            checks=arguments.check,
            jobs=arguments.jobs,
            report=arguments.report,
        )
    if arguments.runtime:
        raise UsageError(
            f"{arguments.runtime} has no lib/libamdhip64.so.7, AMD's HIP runtime; name the folder of a ROCm 7"
        )
    if arguments.report or arguments.jobs or arguments.check != "all":
        raise MissingTool(
            "AMD's HIP runtime (libamdhip64.so.7) for --report, --check or --jobs",
            "$ROCM_PATH, /opt/rocm, /usr",
            "ROCm 7",
        )
    return hip_library.environment(targets, memory=arguments.memory, faults=arguments.faults)
