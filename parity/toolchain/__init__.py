"""From CUDA sources to code objects that run: hipify, compile, cache, load."""

from parity.toolchain.build import Built, build, build_suite, find_modules
from parity.toolchain.compiler import CompileError, device_library
from parity.toolchain.cuda import nvcc, nvcc_version
from parity.toolchain.hipify import Finding, Hipified, hipify
from parity.toolchain.store import MissingKernel, ModuleStore
from parity.toolchain.targets import DEFAULT_TARGETS, TARGETS, Target, target

__all__ = [
    "DEFAULT_TARGETS",
    "TARGETS",
    "Built",
    "CompileError",
    "Finding",
    "Hipified",
    "MissingKernel",
    "ModuleStore",
    "Target",
    "build",
    "build_suite",
    "device_library",
    "find_modules",
    "hipify",
    "nvcc",
    "nvcc_version",
    "target",
]
