"""What CUDA had and the nvcc at hand has no more: small headers of parity's supply it (``include/cuda/parity/former``).

The table ``former.csv`` has a row for each name: the header that supplies it, and the reason. A source that compiles
without gets none of them.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from parity.compilers.diagnostics import Diagnostic
from parity.model.finding import Finding
from parity.platform.files import read_table

__all__ = ["missed"]

TABLE = Path(__file__).with_name("removed_apis.csv")

_MISSED = re.compile(
    r'identifier "(?P<name>\w+)" is undefined|function "(?P<refused>\w+)" was declared deprecated'
    r'|namespace "(?P<space>\w+)" has no member (?:class )?"(?P<member>\w+)"'
)


@dataclass(frozen=True)
class _Row:
    name: str
    header: str
    reason: str


def missed(messages: Iterable[Diagnostic]) -> Iterator[tuple[str, Finding]]:
    """The headers that supply what these errors and warnings of nvcc miss, each with the name and where it stands."""
    for message in messages:
        for match in _MISSED.finditer(message.text):
            name = match["name"] or match["refused"] or f"{match['space']}::{match['member']}"
            if row := _table().get(name):
                yield row.header, Finding(row.name, *message.places[0], f"{row.header}: {row.reason}")


@functools.cache
def _table() -> Mapping[str, _Row]:
    return {each["name"]: _Row(**each) for each in read_table(TABLE)}
