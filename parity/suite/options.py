"""The options of all commands, from the table ``options.csv``; pytest has some of them with the prefix ``--parity``.

The code that uses an option checks its value. This module imports nothing else of parity, because pytest imports it
wherever parity is installed.
"""

from __future__ import annotations

import argparse
import csv
import math
import re
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

DEFAULT_RUNNER = "emulated"
"""The default runner."""

CUDA_SIDE = "ptx"
"""The additional runner if an op does not have a reference: it runs CUDA's side on the CPU."""

EXAMPLES = 20
"""Number of cases to draw per kernel, in addition to the named cases."""

MOST = 100_000
"""Limit of all counts: drawing so many cases takes hours, and memory for all of them."""

TABLES = (".json", ".md", ".csv")
"""The endings of files with measurements."""

_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30}


def names(text: str) -> list[str]:
    """Split a list of names separated by commas.

    Raises:
        argparse.ArgumentTypeError: there is no name, for example because a variable of a script is empty.
    """
    found = [name.strip() for name in text.split(",") if name.strip()]
    if not found:
        raise argparse.ArgumentTypeError(f"{text!r} has no name; leave the option out for its default")
    return found


def positive(text: str, least: int = 1) -> int:
    """Parse a number from ``least`` to ``MOST``.

    Raises:
        argparse.ArgumentTypeError: the text is not such a number.
    """
    digits = text.lstrip("0") if text.isdecimal() else ""
    if len(digits) > len(str(MOST)) or int(digits or 0) > MOST:
        limit = f"{MOST:,}: a command with a larger count takes hours or does not end"
        raise argparse.ArgumentTypeError(f"{text[:40]} is above the limit of {limit}")
    if not text.isdecimal() or int(digits or 0) < least:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of at least {least}")
    return int(text)


def _positive_number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
    return number


def _size(text: str) -> int:
    match = re.fullmatch(r"(\d+)([KMG]?)i?B?", text)
    if not match or not int(match[1]):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of bytes such as 4096, 64M or 2G")
    return int(match[1]) * _UNITS[match[2]]


def _table(text: str) -> Path:
    if Path(text).suffix not in TABLES:
        raise argparse.ArgumentTypeError(f"{text!r} does not end in {' or '.join(TABLES)}")
    return Path(text)


KINDS: Mapping[str, Mapping[str, Any]] = {
    "text": {},
    "texts": {"action": "append", "default": []},
    "words": {"nargs": "*"},
    "names": {"action": "extend", "type": names, "default": []},
    "flag": {"action": "store_true"},
    "level": {"action": "count", "default": 0},
    "no": {"action": "store_false"},
    "yes or no": {"action": argparse.BooleanOptionalAction},
    "count": {"type": positive},
    "integer": {"type": int},
    "natural": {"type": partial(positive, least=0)},
    "number": {"type": _positive_number},
    "size": {"type": _size},
    "path": {"type": Path},
    "required path": {"type": Path, "required": True},
    "optional path": {"type": Path, "nargs": "?", "const": Path()},
    "paths": {"type": Path, "nargs": "*"},
    "some paths": {"type": Path, "nargs": "+"},
    "tables": {"type": _table, "action": "append", "default": []},
}
"""The settings for argparse of each kind of options."""


def read_options(command: str, values: Mapping[str, Any]) -> Iterator[tuple[str, list[str], dict[str, Any]]]:
    """Yield the group, the flags and the settings for argparse of each option of a command, or of ``pytest``.

    A text of the table can contain ``{NAME}``, and ``choices`` is a name: ``values`` has the values of these names, in
    addition to the constants of this module.
    """
    texts = {
        name: " ".join(map(str, value)) if isinstance(value, tuple | dict) else value
        for name, value in {**globals(), **values}.items()
        if name.isupper()
    }
    with Path(__file__).with_suffix(".csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if command in row["commands"].split():
                given = {name: row[name].format_map(texts) for name in ("metavar", "default", "dest", "help")}
                choices = {"choices": tuple(values[row["choices"]])} if row["choices"] in values else {}
                filled = {name: text for name, text in given.items() if text}
                yield row["group"], row["flags"].split(), {**KINDS[row["kind"]], **filled, **choices}


def as_arguments(given: Mapping[str, Any]) -> tuple[str, ...]:
    """Return command-line arguments for options with the given values. Skips options without a value."""
    found: list[str] = []
    for name, value in given.items():
        if name == "runner":
            found += (word for each in value or () for word in ("--runner", each))
        elif value:
            found += (f"--{name}", ",".join(value) if isinstance(value, list | tuple) else str(value))
    return tuple(found)
