"""Cases: one concrete call of an op, with a text form that parses back and serves as a selector.

``unary.elu[f16](x=4x5:1,4+3~mixed@17 alpha=-0.5 null-info launch=2x64)`` reads: op ``unary.elu`` for f16; its tensor
``x`` has the layout ``4x5:1,4+3`` and holds elements 17, 18, ... of the data stream ``mixed``; the parameter ``alpha``
is -0.5; the kernel is told "contiguous" by a null ``info``; 2 blocks of 64 threads instead of the host's own rule.
``threads=64`` instead of ``launch=2x64`` keeps the host's rule for the number of blocks, for blocks of 64 threads.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from parity.errors import UsageError, parse_natural
from parity.model.layout import Layout

__all__ = ["Case", "Tensor", "split"]

_CASE = re.compile(r"(?P<op>[\w.]+)\[(?P<dtypes>[\w,]*)\]\((?P<items>.*)\)", re.DOTALL)
_TENSOR = re.compile(r"(?P<layout>[^~@]+)(?:~(?P<data>[\w.-]+)@(?P<start>[0-9]+))?")


@dataclass(frozen=True)
class Tensor:
    """A tensor of a case: its layout, and the window of a data stream that fills it.

    Buffer element ``layout.offset + i`` holds element ``start + i`` of the stream ``data``, so any single element of a
    failing case can be reached by a one-element case. ``data`` is empty for tensors that are only written.
    """

    layout: Layout
    data: str = ""
    start: int = 0

    def __str__(self) -> str:
        return f"{self.layout}~{self.data}@{self.start}" if self.data else str(self.layout)

    @staticmethod
    def parse(text: str) -> Tensor:
        """The tensor with that text form.

        Raises:
            UsageError: the text is not a tensor.
        """
        match = _TENSOR.fullmatch(text)
        if not match:
            raise UsageError(f"{text!r} is not a tensor; write layout~data@start like 4x5:1,4+3~mixed@17")
        return Tensor(
            Layout.parse(match["layout"]),
            match["data"] or "",
            parse_natural(match["start"] or "0", "the start of the data"),
        )


@dataclass(frozen=True)
class Case:
    """One concrete call of an op. Pure data, hashable; ``str(case)`` is its text form.

    ``launch`` is (blocks, threads per block), or None for the launch rule of the op; ``threads`` is the number of
    threads per block for that rule, or None for what the host uses. ``flags`` are words that the op declares, such as
    ``null-info``, ``in-place`` or ``aliased``.
    """

    op: str
    dtypes: tuple[str, ...]
    tensors: tuple[tuple[str, Tensor], ...]
    params: tuple[tuple[str, float | int], ...] = ()
    flags: tuple[str, ...] = ()
    launch: tuple[int, int] | None = None
    threads: int | None = None

    @property
    def layouts(self) -> Mapping[str, Layout]:
        """The layout of every tensor."""
        return {name: tensor.layout for name, tensor in self.tensors}

    def tensor(self, name: str) -> Tensor:
        return dict(self.tensors)[name]

    def with_tensors(self, tensors: dict[str, Tensor]) -> Case:
        """The same call with other tensors."""
        return replace(self, tensors=tuple((name, tensors[name]) for name, _ in self.tensors))

    def __str__(self) -> str:
        items = [f"{name}={value}" for name, value in self.tensors]
        items += [f"{name}={value!r}" for name, value in self.params]
        items += self.flags
        if self.launch:
            items.append(f"launch={self.launch[0]}x{self.launch[1]}")
        if self.threads:
            items.append(f"threads={self.threads}")
        return f"{self.op}[{','.join(self.dtypes)}]({' '.join(items)})"


def split(text: str) -> tuple[str, tuple[str, ...], dict[str, str], list[str]]:
    """Op name, dtypes, ``name=value`` items and flags of a case text; what they mean is for the op to say.

    Raises:
        UsageError: the text does not have the form of a case, or an item comes twice.
    """
    match = _CASE.fullmatch(text.strip())
    if not match:
        raise UsageError(
            f"{text!r} is not a case; write op[dtypes](tensors params flags) as `parity list --cases` prints"
        )
    values: dict[str, str] = {}
    flags: list[str] = []
    for item in match["items"].split():
        name, equals, value = item.partition("=")
        if not equals:
            flags.append(name)
        elif name in values:
            raise UsageError(f"{name!r} comes twice in {text!r}")
        else:
            values[name] = value
    return match["op"], tuple(d for d in match["dtypes"].split(",") if d), values, flags
