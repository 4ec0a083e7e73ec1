"""Options that commands share with pytest, where ``--target`` becomes ``--parity-target``.

The code that uses an option checks its value. This module imports nothing else of parity, because pytest imports it
wherever parity is installed.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

DEFAULT_RUNNER = "emulated"
"""The default runner."""

CUDA_SIDE = "ptx"
"""The additional runner if an op does not have a reference: it runs CUDA's side on the CPU."""

EXAMPLES = 20
"""Number of cases to draw per kernel, in addition to the named cases."""


def names(text: str) -> list[str]:
    """Split a list of names separated by commas."""
    return [name.strip() for name in text.split(",") if name.strip()]


def positive(text: str) -> int:
    """Parse a number of at least 1.

    Raises:
        argparse.ArgumentTypeError: the text is not such a number.
    """
    if not (text.isdecimal() and int(text)):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of at least 1")
    return int(text)


@dataclass(frozen=True)
class Option:
    """An option. ``others`` are alternative spellings for commands, ``settings`` are arguments for argparse."""

    metavar: str
    help: str
    others: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))


_LIST = MappingProxyType({"action": "extend", "type": names, "default": []})

OPTIONS: Mapping[str, Option] = {
    "runner": Option(
        "NAME",
        "runner to execute on; recorded=FILE replays a recording of parity record; may be repeated to compare runners "
        f"and vendors (default: {DEFAULT_RUNNER}, and {CUDA_SIDE} if an op has no reference; only {CUDA_SIDE} if all "
        "targets are CUDA targets)",
        settings={"action": "append", "default": []},
    ),
    "target": Option(
        "T,..",
        "targets to run, separated by commas; a runner that does not support any of them uses its own targets "
        "(default: the default targets of each runner)",
        settings=_LIST,
    ),
    "dtype": Option("D,..", "select only kernels with one of these dtypes, separated by commas", settings=_LIST),
    "examples": Option(
        "N",
        f"cases to draw for each kernel, in addition to the named cases (default: {EXAMPLES})",
        settings={"type": positive},
    ),
    "seed": Option(
        "N", "seed for drawing cases; equal seeds draw equal cases everywhere (default: 0)", settings={"type": int}
    ),
    "launches": Option(
        "WHICH",
        "launches to try: any (default) includes launches that the host code does not use, host keeps to the launch "
        "rule of the op; [tool.parity] can set this permanently",
    ),
    "kernels": Option("DIR", "folder of the .cu files", ("--kernels-dir",)),
    "hip": Option("DIR", "folder of the HIP sources, if they are not translated with hipify"),
    "cases": Option("DIR", "folder of the case files", ("--cases-dir",)),
    "toolchain": Option(
        "NAME",
        "compiler for AMD targets: rocm (an installed ROCm), wheels (clang and AMD's headers from Python wheels; also "
        "selects nvcc from wheels for CUDA targets), or auto (a ROCm of version 6 or newer if installed, else wheels) "
        "(default: $PARITY_TOOLCHAIN, or auto)",
    ),
    "hipify": Option(
        "NAME",
        "translator from CUDA to HIP: literal (parity, name by name), helpful (also spells out 32 lanes where CUDA "
        "implies them), or a hipify tool of an installed ROCm (default: $PARITY_HIPIFY, or literal)",
    ),
    "known-issues": Option(
        "FILE", "file of expected failures (default: known-issues.toml next to pyproject.toml, if present)"
    ),
    "output": Option("DIR", "folder for the record, the matrix and the failures"),
}


def declare(add: Callable[..., Any], name: str, *flags: str, **settings: Any) -> None:
    """Declare an option with ``add``, the method of a parser.

    ``flags`` and ``settings`` override the table. The default flags are ``--name`` and the alternative spellings.
    """
    option = OPTIONS[name]
    flags = flags or (f"--{name}", *option.others)
    add(*flags, **{"metavar": option.metavar, "help": option.help, **option.settings, **settings})


def as_arguments(given: Mapping[str, Any]) -> tuple[str, ...]:
    """Return command-line arguments for options with the given values. Skips options without a value."""
    found: list[str] = []
    for name, value in given.items():
        if OPTIONS[name].settings.get("action") == "append":
            found += (word for each in value or () for word in (f"--{name}", each))
        elif value:
            found += (f"--{name}", ",".join(value) if isinstance(value, list | tuple) else str(value))
    return tuple(found)
