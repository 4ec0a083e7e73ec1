"""Options that commands and pytest have in common, each declared once: ``--target`` is ``--parity-target`` there.

What they choose among is checked where it is used, so that this module needs nothing else of parity: pytest imports it
wherever parity is installed.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

__all__ = ["CUDA_SIDE", "DEFAULT_RUNNER", "EXAMPLES", "Option", "as_arguments", "declare", "names", "positive"]

DEFAULT_RUNNER = "emulated"
"""The runner that executes if no other is asked for."""

CUDA_SIDE = "ptx"
"""The runner beside it if an op has no reference: CUDA's side on the CPU."""

EXAMPLES = 20
"""Cases that are drawn per kernel, beside the named ones."""


def names(text: str) -> list[str]:
    """The names in a list that is separated by commas."""
    return [name.strip() for name in text.split(",") if name.strip()]


def positive(text: str) -> int:
    """A number of at least 1.

    Raises:
        argparse.ArgumentTypeError: it is none.
    """
    if not (text.isdecimal() and int(text)):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of at least 1")
    return int(text)


@dataclass(frozen=True)
class Option:
    """An option: what it takes and says. ``others`` are further spellings of it for commands."""

    metavar: str
    help: str
    others: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))


_LIST = MappingProxyType({"action": "extend", "type": names, "default": []})

OPTIONS: Mapping[str, Option] = {
    "runner": Option(
        "NAME",
        f"what executes (default: {DEFAULT_RUNNER}, and {CUDA_SIDE} if an op has no reference; {CUDA_SIDE} alone if "
        "all targets are CUDA's); recorded=FILE replays the cases that parity record stored there. May be repeated: "
        "then the runners stand side by side, and CUDA is compared with AMD",
        settings={"action": "append", "default": []},
    ),
    "target": Option(
        "T,..",
        "targets (default: the usual ones of each runner); a runner that can run none of them keeps its own",
        settings=_LIST,
    ),
    "dtype": Option("D,..", "only kernels with one of these dtypes", settings=_LIST),
    "examples": Option(
        "N",
        f"cases to draw per kernel, beside the named ones (default: {EXAMPLES})",
        settings={"type": positive},
    ),
    "seed": Option("N", "the same seed draws the same cases everywhere (default: 0)", settings={"type": int}),
    "launches": Option(
        "WHICH",
        "any: launches other than the host's own, too (the default); host: the op's own launch rule only. Set for good "
        "by launches of [tool.parity]",
    ),
    "kernels": Option("DIR", "folder of the .cu files", ("--kernels-dir",)),
    "hip": Option("DIR", "folder of AMD's sources, if they are not to be hipified"),
    "cases": Option("DIR", "folder of the case files", ("--cases-dir",)),
    "toolchain": Option(
        "NAME",
        "what compiles for AMD targets; rocm: an installed ROCm, wheels: clang and AMD's headers from Python wheels "
        "(and for CUDA targets nvcc from those, whatever is installed), auto (the default, or $PARITY_TOOLCHAIN): a "
        "ROCm of version 6 or newer if there is one, else the wheels",
    ),
    "hipify": Option(
        "NAME",
        "what makes HIP of CUDA sources; literal (the default, or $PARITY_HIPIFY): parity, name by name, helpful: and "
        "with 32 lanes spelled out where CUDA means them, the others: that tool of an installed ROCm",
    ),
    "known-issues": Option(
        "FILE", "failures to expect (default: known-issues.toml beside pyproject.toml, where there is one)"
    ),
    "output": Option("DIR", "write the record, the matrix and the failures there"),
}


def declare(add: Callable[..., Any], name: str, *flags: str, **settings: Any) -> None:
    """Declare an option with ``add``, the method of a parser; ``flags`` and ``settings`` go before those of the table.

    Without flags it is ``--name``, and what else it is called.
    """
    option = OPTIONS[name]
    flags = flags or (f"--{name}", *option.others)
    add(*flags, **{"metavar": option.metavar, "help": option.help, **option.settings, **settings})


def as_arguments(given: Mapping[str, Any]) -> tuple[str, ...]:
    """Options with these values as arguments of a command; those that have none are left out."""
    found: list[str] = []
    for name, value in given.items():
        if OPTIONS[name].settings.get("action") == "append":
            found += (word for each in value or () for word in (f"--{name}", each))
        elif value:
            found += (f"--{name}", ",".join(value) if isinstance(value, list | tuple) else str(value))
    return tuple(found)
