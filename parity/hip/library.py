"""Builds the replacement for libamdhip64, and the environment variables that make a program load it."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from parity.compilers import zig
from parity.errors import ParityError
from parity.platform.cache import Cache, default_root, digest
from parity.platform.files import read_table

DEVICE_NAME = "parity's emulator"
"""The prefix of the names of emulated GPUs."""

_SOURCE = Path(__file__).with_name("amdhip64.c")
_ERRORS = Path(__file__).with_name("errors.csv")
_ROOT = Path(__file__).parent.parent.parent

# Programs load the version of HIP that they were linked with (5, 6, 7), hip-python the unversioned name.
_NAMES = ("libamdhip64.so", "libamdhip64.so.5", "libamdhip64.so.6", "libamdhip64.so.7")
_FLAGS = (
    *("cc", "-shared", "-fPIC", "-O2", "-std=gnu11", "-fvisibility=hidden", "-s", "-Wall", "-Wno-unused-parameter"),
    *("-Wl,-soname,libamdhip64.so",),
)

LIMITATIONS = Path(__file__).with_name("limitations.txt").read_text(encoding="utf-8")


def hip_errors() -> list[tuple[int, str, str]]:
    """Return value, name and text of each error that the emulated HIP can return."""
    return [(int(row["value"]), row["name"], row["text"]) for row in read_table(_ERRORS)]


def library() -> Path:
    """Return the folder with the library under all of its names. Compiles it unless it is in the cache.

    Raises:
        MissingTool: The compiler is not installed.
    """
    text = ", ".join(f"{{{value}, {json.dumps(name)}, {json.dumps(what)}}}" for value, name, what in hip_errors())
    flags = [
        *_FLAGS,
        f"-DHIP_ERRORS={text}",
        f"-DHIP_PYTHON={json.dumps(sys.executable)}",
        f"-DHIP_ROOT={json.dumps(str(_ROOT))}",
    ]

    def compile_library(folder: Path) -> None:
        lib = folder / "lib"
        lib.mkdir()
        result = zig.run([*flags, _SOURCE, "-o", lib / _NAMES[0]])
        if result.returncode:
            raise ParityError(f"the replacement for libamdhip64 does not compile:\n{result.stderr}")
        for name in _NAMES[1:]:
            (lib / name).symlink_to(_NAMES[0])

    folder, _ = Cache(default_root() / "hip").get(digest(zig.version(), *flags, _SOURCE.read_bytes()), compile_library)
    return folder


def environment(
    targets: Sequence[str] = (), *, memory: int | None = None, faults: Sequence[str] = ()
) -> Mapping[str, str]:
    """Return the environment variables that make a program run on emulated GPUs.

    ``targets`` are the targets of the GPUs (default: one GPU for each default target). ``memory`` is their total memory
    in bytes. ``faults`` are planted faults: ``API=ERROR``, or ``API=ERROR@N`` for call N only.
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
