"""The environment of compilers: variables that change what a compiler reads or writes."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping

from parity.compilers.compile_options import check_flags

_IGNORED = frozenset(
    (
        *("CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "OBJC_INCLUDE_PATH", "OBJCPLUS_INCLUDE_PATH"),
        *("CCC_OVERRIDE_OPTIONS", "CCC_ADD_ARGS", "CL", "_CL_", "GCC_EXEC_PREFIX", "COMPILER_PATH"),
        *("DEPENDENCIES_OUTPUT", "SUNPRO_DEPENDENCIES", "CC_PRINT_OPTIONS", "CC_PRINT_HEADERS", "CC_LOG_DIAGNOSTICS"),
    )
)
"""Variables that add header folders, options and outputs. Compilers do not get them."""

_FLAGS = ("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS", "HIPCC_COMPILE_FLAGS_APPEND")
_SETTINGS = (
    *_FLAGS,
    *("NVCC_CCBIN", "HIP_CLANG_PATH", "HIP_CLANG_LAUNCHER", "HIP_DEVICE_LIB_PATH", "DEVICE_LIB_PATH"),
    "SOURCE_DATE_EPOCH",
)


def compiler_environment(more: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a compiler, with ``more`` variables."""
    kept = {name: value for name, value in os.environ.items() if name not in _IGNORED}
    return {**kept, **more}


def compiler_settings() -> tuple[str, ...]:
    """Return the variables that affect code, for a cache key.

    Raises:
        UsageError: a variable has a flag that parity does not accept.
    """
    for name in _FLAGS:
        check_flags(shlex.split(os.environ.get(name, "")), f"the environment variable {name}")
    return tuple(f"{name}={os.environ[name]}" for name in _SETTINGS if name in os.environ)
