"""The shared library that stands in for libamdhip64, and the environment in which a program finds it."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from parity.compilers import zig
from parity.errors import ParityError
from parity.platform.cache import Cache, default_root, digest
from parity.platform.files import rows_of

__all__ = ["DEVICE_NAME", "LIMITATIONS", "environment", "hip_errors", "library"]

DEVICE_NAME = "parity's emulator"
"""The first words of every emulated GPU's name."""

_SOURCE = Path(__file__).with_name("amdhip64.c")
_ERRORS = Path(__file__).with_name("errors.csv")
_ROOT = Path(__file__).parent.parent.parent

# Programs ask for the version of HIP that they were linked with (5, 6, 7); hip-python for none.
_NAMES = ("libamdhip64.so", "libamdhip64.so.5", "libamdhip64.so.6", "libamdhip64.so.7")
_FLAGS = (
    *("cc", "-shared", "-fPIC", "-O2", "-std=gnu11", "-fvisibility=hidden", "-s", "-Wall", "-Wno-unused-parameter"),
    *("-Wl,-soname,libamdhip64.so",),
)

LIMITATIONS = """\
Kernels launched with <<<>>> or hipLaunchKernel, hipMallocManaged, kernels that read host memory, textures, graphs,
cooperative launches, occupancy queries, and libraries such as hipBLAS are not there: a program that needs one of them
fails when it looks the function up. A module is found by its content among those that parity built, or else
disassembled, where an LLVM is installed; modules of the same content share their variables. Work is done when it is
enqueued, in the order of the calls, whatever the stream; events give the emulator's time. The loader may warn that the
library has no version information; that is no error. hip-python prefers the library of the rocm-sdk wheels where these
are installed.
"""


def hip_errors() -> list[tuple[int, str, str]]:
    """Value, name and text of the errors that the emulated HIP can return."""
    return [(int(row["value"]), row["name"], row["text"]) for row in rows_of(_ERRORS)]


def library() -> Path:
    """The folder with the library, under the names by which programs ask for it; compiled if it is not in the cache.

    Raises:
        MissingTool: the compiler is not installed.
    """
    text = ", ".join(f"{{{value}, {json.dumps(name)}, {json.dumps(what)}}}" for value, name, what in hip_errors())
    flags = [
        *_FLAGS,
        f"-DHIP_ERRORS={text}",
        f"-DHIP_PYTHON={json.dumps(sys.executable)}",
        f"-DHIP_ROOT={json.dumps(str(_ROOT))}",
    ]

    def compile_it(folder: Path) -> None:
        lib = folder / "lib"
        lib.mkdir()
        result = zig.run([*flags, _SOURCE, "-o", lib / _NAMES[0]])
        if result.returncode:
            raise ParityError(f"the library that stands in for libamdhip64 does not compile:\n{result.stderr}")
        for name in _NAMES[1:]:
            (lib / name).symlink_to(_NAMES[0])

    folder, _ = Cache(default_root() / "hip").get(digest(zig.version(), *flags, _SOURCE.read_bytes()), compile_it)
    return folder


def environment(
    targets: Sequence[str] = (), *, memory: int | None = None, faults: Sequence[str] = ()
) -> Mapping[str, str]:
    """The environment variables with which a program of HIP's module API runs in the emulator.

    ``targets`` are those of the GPUs it finds (default: one of each of the default targets), ``memory`` the bytes they
    have together, ``faults`` what is to fail: ``API=ERROR``, or ``API=ERROR@N`` for the N-th call alone.
    """
    folder = library()
    path = os.environ.get("LD_LIBRARY_PATH")
    found = {"LD_LIBRARY_PATH": os.pathsep.join([str(folder / "lib"), *([path] if path else [])])}
    # hip-python looks there first; $ROCM_PATH comes before $ROCM_HOME.
    found["ROCM_PATH" if os.environ.get("ROCM_PATH") else "ROCM_HOME"] = str(folder)
    if targets:
        found["PARITY_HIP_TARGETS"] = ",".join(targets)
    if memory is not None:
        found["PARITY_HIP_MEMORY"] = str(memory)
    if faults:
        found["PARITY_HIP_FAULTS"] = " ".join(faults)
    return found
