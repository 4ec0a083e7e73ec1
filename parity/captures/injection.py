"""Builds the library that records kernel launches, and lets a program or this process load it."""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from parity.captures.file import Capture, pack
from parity.compilers import zig
from parity.errors import MissingTool, NotAvailable, ParityError, UsageError
from parity.platform.cache import Cache, default_root, digest
from parity.platform.files import naming_write_errors
from parity.platform.installation import install_command, package_folders

PARTS = ".parts"
"""The suffix of the folder that holds a capture while the program runs."""

_SOURCE = Path(__file__).with_name("injection.c")
_NAME = "libparity_capture.so"
_FLAGS = (
    *("cc", "-shared", "-fPIC", "-O2", "-std=gnu11", "-fvisibility=hidden", "-s", "-Wall"),
    *("-Wno-deprecated-non-prototype", "-ldl", "-lpthread"),
)


@dataclass(frozen=True)
class Limits:
    """The limits of a capture.

    Attributes:
        launches: recorded launches of each kernel with the same grid, block and shared memory.
        shapes: kernels with different grid, block or shared memory.
        bytes: size of all memory contents.
        allocation: bytes of one allocation that are recorded whether or not the launch changes them.
        kernel: a shell pattern that the symbol of a recorded kernel must match; empty for all kernels.
    """

    launches: int = 3
    shapes: int = 256
    bytes: int = 1 << 30
    allocation: int = 16 << 20
    kernel: str = ""


def library() -> Path:
    """Return the library. Compiles it unless it is in the cache.

    Raises:
        MissingTool: the compiler is not installed.
    """

    def compile_library(folder: Path) -> None:
        result = zig.run([*_FLAGS, _SOURCE, "-o", folder / _NAME])
        if result.returncode:
            raise ParityError(f"the library that records launches does not compile:\n{result.stderr}")

    folder, _ = Cache(default_root() / "capture").get(
        digest(zig.version(), *_FLAGS, _SOURCE.read_bytes()), compile_library
    )
    return folder / _NAME


def cupti() -> Path:
    """Return NVIDIA's library for tracing, from its wheel or from an installed toolkit.

    Raises:
        MissingTool: it is not installed.
    """
    roots = package_folders("nvidia")
    found = [path for root in roots for path in sorted(root.glob("cu*/lib/libcupti.so.*"), reverse=True)]
    homes = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"]
    for place in ("extras/CUPTI/lib64", "lib64", "targets/x86_64-linux/lib"):
        found += [path for home in homes if home for path in sorted(Path(home, place).glob("libcupti.so.*"))]
    if not found:
        looked = "the Python package nvidia-cuda-cupti, $CUDA_HOME, /usr/local/cuda"
        raise MissingTool("libcupti", looked, install_command("capture"))
    return found[0]


def _environment(folder: Path, limits: Limits) -> Mapping[str, str]:
    numbers = (limits.launches, limits.shapes, limits.bytes, limits.allocation)
    return {
        "PARITY_CAPTURE_FOLDER": str(folder.absolute()),
        "PARITY_CAPTURE_CUPTI": str(cupti()),
        "PARITY_CAPTURE_LIMITS": ",".join(map(str, numbers)),
        "PARITY_CAPTURE_KERNEL": limits.kernel,
    }


@contextlib.contextmanager
def _parts(path: Path) -> Iterator[Path]:
    """Create the folder next to the capture that the library writes to, and remove it if nothing raises.

    Raises:
        UsageError: it exists already, or cannot be created.
    """
    folder = path.with_name(path.name + PARTS)
    if folder.exists():
        recover = f"parity capture --recover {folder} -o {path}"
        raise UsageError(f"{folder} is left of an interrupted capture; keep it with {recover}, or remove it")
    with naming_write_errors(folder, "choose another file with -o"):
        folder.mkdir(parents=True)
    try:
        yield folder
    finally:
        if not any(folder.iterdir()):
            folder.rmdir()
    shutil.rmtree(folder, ignore_errors=True)


def capture_program(command: Sequence[str], path: Path, limits: Limits) -> tuple[Capture, int]:
    """Run a program with the library, and return the capture and the exit status of the program.

    Raises:
        UsageError: the program does not exist, or the file cannot be written.
        MissingTool: the compiler or CUPTI is not installed.
    """
    program = shutil.which(command[0])
    if program is None:
        raise UsageError(f"no program {command[0]!r}; name a file, or one that is on PATH")
    injected = {"CUDA_INJECTION64_PATH": str(library())}
    with _parts(path) as folder:
        variables = {**os.environ, **_environment(folder, limits), **injected}
        status = subprocess.run([program, *command[1:]], env=variables, check=False).returncode
        return pack(folder, path), status


@contextlib.contextmanager
def capture(path: str | os.PathLike[str], limits: Limits = Limits()) -> Iterator[None]:
    """Record the kernel launches of this process to a file, while the context is active.

    CuPy, PyTorch, Triton and other libraries work unmodified. The variables of modules that were loaded earlier are not
    recorded.

    Raises:
        UsageError: the file cannot be written.
        NotAvailable: the compiler or CUPTI is not installed, or CUPTI cannot be used.
    """
    found = ctypes.CDLL(str(library()))
    with _parts(Path(path)) as folder:
        variables = _environment(folder, limits)
        before = {name: os.environ[name] for name in variables if name in os.environ}
        os.environ.update(variables)
        try:
            started = found.parity_capture_start()
        finally:
            for name in variables:
                del os.environ[name]
            os.environ.update(before)
        if not started:
            raise NotAvailable("this process cannot record kernel launches; the reason is above")
        try:
            yield
        finally:
            found.parity_capture_stop()
            pack(folder, Path(path))


def recover(folder: Path, path: Path) -> Capture:
    """Write the capture of a program whose ``parity capture`` was killed, and remove the folder.

    Raises:
        UsageError: the folder does not hold a capture, or the file cannot be written.
    """
    if not any(folder.glob("*.jsonl")):
        raise UsageError(f"{folder} holds no launches of an interrupted capture")
    found = pack(folder, path)
    shutil.rmtree(folder)
    return found
