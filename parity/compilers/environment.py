"""The environment of compilers: variables that change what a compiler reads or writes."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from pathlib import Path

from parity.compilers.compile_options import check_flags, named_files
from parity.platform.cache import file_digest
from parity.platform.files import read_table

_VARIABLES = {row["effect"]: tuple(row["variables"].split()) for row in read_table(Path(__file__).with_suffix(".csv"))}
"""The variables by their effect. Compilers do not get the ``ignored`` ones, which add header folders and outputs."""


def compiler_environment(more: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a compiler, with ``more`` variables."""
    kept = {name: value for name, value in os.environ.items() if name not in _VARIABLES["ignored"]}
    return {**kept, **more}


def compiler_settings() -> tuple[str, ...]:
    """Return the variables that affect code, for a cache key.

    Raises:
        UsageError: a variable has a flag that parity does not accept.
    """
    names = (*_VARIABLES["flags"], *_VARIABLES["settings"])
    given = {name: os.environ[name] for name in names if name in os.environ}
    flags = {name: shlex.split(given.get(name, "")) for name in _VARIABLES["flags"]}
    for name, words in flags.items():
        check_flags(words, f"the environment variable {name}")
    files = named_files([*given.values(), *(word for words in flags.values() for word in words)])
    return (*(f"{name}={value}" for name, value in given.items()), *map(file_digest, files))
