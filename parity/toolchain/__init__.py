"""From CUDA sources to code objects that run: hipify, compile, cache, load."""

from parity.toolchain.build import Built, HelpfulPort, build, build_suite, find_modules, helpful_port
from parity.toolchain.build_files import Switch
from parity.toolchain.compiler import CompileError, device_library
from parity.toolchain.cuda import located as located_nvcc
from parity.toolchain.cuda import nvcc, nvcc_version
from parity.toolchain.disassembler import find_disassembler
from parity.toolchain.headers import WHEELS, cached_headers
from parity.toolchain.hipify import HELPFUL, LITERAL, Finding, hipify
from parity.toolchain.recompile import Stage, recompiled, stage
from parity.toolchain.rocm import TOOLCHAINS, VARIABLE, other_headers, with_headers
from parity.toolchain.rocm import chosen as chosen_rocm
from parity.toolchain.rocm import installed as installed_rocm
from parity.toolchain.sources import forget_folders
from parity.toolchain.store import MissingKernel, ModuleStore
from parity.toolchain.targets import CUDA_TARGET, DEFAULT_TARGETS, TARGETS, Target, target
from parity.toolchain.translators import HIPIFIERS, HIPIFY, chosen_hipifier

__all__ = [
    "CUDA_TARGET",
    "DEFAULT_TARGETS",
    "HELPFUL",
    "HIPIFIERS",
    "HIPIFY",
    "LITERAL",
    "TARGETS",
    "TOOLCHAINS",
    "VARIABLE",
    "WHEELS",
    "Built",
    "CompileError",
    "Finding",
    "HelpfulPort",
    "MissingKernel",
    "ModuleStore",
    "Stage",
    "Switch",
    "Target",
    "build",
    "build_suite",
    "cached_headers",
    "chosen_hipifier",
    "chosen_rocm",
    "device_library",
    "find_disassembler",
    "find_modules",
    "forget_folders",
    "helpful_port",
    "hipify",
    "installed_rocm",
    "located_nvcc",
    "nvcc",
    "nvcc_version",
    "other_headers",
    "recompiled",
    "stage",
    "target",
    "with_headers",
]
