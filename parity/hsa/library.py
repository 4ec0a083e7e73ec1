"""Builds the HSA runtime, and finds the HIP runtime of AMD that loads it."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from parity.compilers import zig
from parity.compilers.targets import TARGETS
from parity.errors import ParityError
from parity.platform.cache import Cache, default_root, digest
from parity.platform.files import read_rows, read_table

DEVICE_NAME = "parity: AMD runtime, emulated GPU"
"""The prefix of the names of emulated GPUs. AMD's runtime knows nothing else that tells them from hardware, and reports
of library runners show it."""

_HERE = Path(__file__).parent
_SOURCES = tuple(sorted(_HERE.glob("runtime/*.c")))
_HEADERS = (_HERE / "runtime/hsa.h", _HERE.parent / "emulator/runtime/texels.h")
_INCLUDES = tuple(f"-I{header.parent}" for header in _HEADERS)
_NAME, _SHORT = "libhsa-runtime64.so.1", "libhsa-runtime64.so"
_HIP = "libamdhip64.so.7"
_FLAGS = (
    *("cc", "-shared", "-fPIC", "-O2", "-std=gnu11", "-D_GNU_SOURCE", "-fvisibility=hidden", "-s", "-pthread"),
    *("-Wall", "-Wno-unused-parameter", f"-Wl,-soname,{_NAME}"),
)
_FOLDERS = ("lib", "lib64", "lib/x86_64-linux-gnu")
_VERSIONS = "ROCR_1 { global: hsa_*; local: *; };\n"


@dataclass(frozen=True)
class _Gpu:
    """A row of ``gpus.csv``: the features in the name of the instruction set, and the PCI number of a chip."""

    target: str
    features: str
    chip: int


def functions() -> dict[str, str]:
    """Return the functions that AMD's HIP runtime needs, each with the reason for which it is refused, or ``""``."""
    return {row["function"]: row["refused"] for row in read_table(_HERE / "functions.csv")}


def _targets() -> str:
    """Return the C initializers of the targets' properties."""
    rows = []
    for gpu in read_rows(_HERE / "gpus.csv", _Gpu):
        where = TARGETS[gpu.target]
        assert where.limits is not None
        numbers = where.wavefront, where.lds_bytes, where.limits.simds, where.limits.waves, where.isa, gpu.chip
        isa = f"amdgcn-amd-amdhsa--{gpu.target}{gpu.features}"
        rows.append(f"{{{json.dumps(gpu.target)}, {json.dumps(isa)}, {', '.join(map(str, numbers))}}}")
    return ", ".join(rows)


def library() -> Path:
    """Return the folder with the runtime. Compiles it unless it is in the cache.

    Raises:
        MissingTool: The compiler is not installed.
    """
    refusing = '#include "hsa.h"\n' + "".join(
        f'API int {name}(void) {{ return refused("{name}", {json.dumps(why)}); }}\n'
        for name, why in functions().items()
        if why
    )
    flags = [
        *_FLAGS,
        f"-DHSA_TARGETS={_targets()}",
        f"-DHSA_NAME={json.dumps(DEVICE_NAME)}",
        f"-DHSA_PYTHON={json.dumps(sys.executable)}",
        f"-DHSA_ROOT={json.dumps(str(_HERE.parent.parent))}",
    ]

    def compile_library(folder: Path) -> None:
        (folder / "refused.c").write_text(refusing)
        (folder / "versions").write_text(_VERSIONS)
        inputs: tuple[str | Path, ...] = (*_INCLUDES, *_SOURCES, folder / "refused.c")
        result = zig.run([*flags, *inputs, "-o", folder / _NAME, f"-Wl,--version-script={folder / 'versions'}"])
        if result.returncode:
            raise ParityError(f"the HSA runtime does not compile:\n{result.stderr}")
        (folder / _SHORT).symlink_to(_NAME)

    content = [path.read_bytes() for path in (*_SOURCES, *_HEADERS)]
    key = digest(zig.version(), *flags, refusing, _VERSIONS, *content)
    folder, _ = Cache(default_root() / "hsa").get(key, compile_library)
    return folder


def hip_runtime(rocm: Path | None = None) -> Path | None:
    """Return the folder of AMD's HIP runtime: below ``rocm``, ``$ROCM_PATH``, ``/opt/rocm`` or where the loader looks.

    Returns ``None`` if it is not installed, or needs a newer system than this one.
    """
    roots = [rocm] if rocm else [Path(os.environ.get("ROCM_PATH") or "/opt/rocm"), Path("/usr")]
    return next((folder for root in roots for part in _FOLDERS if ((folder := root / part) / _HIP).exists()), None)


def environment(
    folder: Path,
    targets: Sequence[str],
    *,
    memory: int | None = None,
    checks: str = "all",
    jobs: int | None = None,
    report: Path | None = None,
) -> Mapping[str, str]:
    """Return the environment variables that make a program run on AMD's runtime, on emulated GPUs.

    ``folder`` holds AMD's HIP runtime. ``targets`` are the targets of the GPUs. ``memory`` is the size of each GPU's
    memory in bytes, ``checks`` a value of ``parity exec --check``, and ``jobs`` the number of threads that execute a
    launch without checks (default: one per processor). The emulator writes its findings into ``report``.
    """
    path = os.environ.get("LD_LIBRARY_PATH")
    found = {
        "LD_LIBRARY_PATH": os.pathsep.join([str(library()), str(folder), *([path] if path else [])]),
        "PARITY_HSA_TARGETS": ",".join(targets),
        # AMD's runtime would lock the program's memory for large copies, and keep it locked after the program frees it.
        "GPU_PINNED_MIN_XFER_SIZE": "1000000",
    }
    if memory is not None:
        found["PARITY_HSA_MEMORY"] = str(memory)
    if checks != "all":
        found["PARITY_HSA_CHECK"] = checks
    if jobs is not None:
        found["PARITY_HSA_JOBS"] = str(jobs)
    if report is not None:
        found["PARITY_HSA_REPORT"] = str(report.absolute())
    return found
