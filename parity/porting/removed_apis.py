"""Supplies what CUDA has removed, from headers in ``include/cuda/parity/former``.

Each row of ``removed_apis.csv`` maps a name to the header that supplies it, with the reason. A source that compiles
without these headers does not get them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from parity.compilers.diagnostics import Diagnostic
from parity.model.finding import Finding
from parity.platform.files import read_table

TABLE = Path(__file__).with_name("removed_apis.csv")
_ROWS = {row["name"]: row for row in read_table(TABLE)}

_MISSING = re.compile(
    r'identifier "(?P<name>\w+)" is undefined|function "(?P<refused>\w+)" was declared deprecated'
    r'|namespace "(?P<space>\w+)" has no member (?:class )?"(?P<member>\w+)"'
)


def headers_for(messages: Iterable[Diagnostic]) -> Iterator[tuple[str, Finding]]:
    """Yield the headers that supply what these errors and warnings of nvcc miss, with the name and its place."""
    for message in messages:
        for match in _MISSING.finditer(message.text):
            name = match["name"] or match["refused"] or f"{match['space']}::{match['member']}"
            if row := _ROWS.get(name):
                yield row["header"], Finding(name, *message.places[0], f"{row['header']}: {row['reason']}")
