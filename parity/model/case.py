"""Cases: concrete calls of an op. The text of a case parses back to the case and serves as a selector.

For example, ``unary.elu[f16](x=4x5:1,4+3~mixed@17 alpha=-0.5 null-info launch=2x64)`` calls ``unary.elu`` for f16. The
tensor ``x`` has the layout ``4x5:1,4+3`` and holds elements 17, 18, ... of the data stream ``mixed``. The parameter
``alpha`` is -0.5. A null ``info`` means that tensors are contiguous. The launch has 2 blocks of 64 threads;
``threads=64`` would keep the op's rule for the number of blocks.

``split`` parses the form of a text. ``parity.cases.parser`` parses its meaning for an op.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from parity.errors import UsageError, parse_natural
from parity.model.layout import SPARSE, Layout

_CASE = re.compile(r"(?P<op>[\w.]+)\[(?P<dtypes>[\w,]*)\]\((?P<items>.*)\)", re.DOTALL)
_TENSOR = re.compile(r"(?P<layout>[^~@]+)(?:~(?P<data>[\w.-]+)@(?P<start>[0-9]+))?")


@dataclass(frozen=True)
class Tensor:
    """A tensor of a case: its layout, and the window of a data stream that fills it.

    Buffer element ``layout.offset + i`` holds element ``start + i`` of the stream ``data``. A one-element case can
    therefore reproduce any single element. ``data`` is empty for tensors that the kernel only writes.
    """

    layout: Layout
    data: str = ""
    start: int = 0

    def __str__(self) -> str:
        return f"{self.layout}~{self.data}@{self.start}" if self.data else str(self.layout)

    @staticmethod
    def parse(text: str) -> Tensor:
        """Parse the text form.

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
    """One concrete call of an op. Pure data, hashable; ``str(case)`` is its text.

    Attributes:
        flags: flags of the op, such as ``null-info``, ``in-place`` or ``aliased``.
        launch: (blocks, threads per block), or None for the launch rule of the op.
        threads: threads per block for that rule, or None for its default.
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

    @property
    def is_sparse(self) -> bool:
        """Whether a tensor has too many elements to run all blocks and to hold all results."""
        return any(tensor.layout.numel >= SPARSE for _, tensor in self.tensors)

    def tensor(self, name: str) -> Tensor:
        return dict(self.tensors)[name]

    def with_tensors(self, tensors: dict[str, Tensor]) -> Case:
        """Return the case with other tensors."""
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
    """Split the text of a case into op name, dtypes, ``name=value`` items and flags, without interpreting them.

    Raises:
        UsageError: the text does not have the form of a case, or an item occurs twice.
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
            raise UsageError(f"{name!r} occurs twice in {text!r}")
        else:
            values[name] = value
    return match["op"], tuple(d for d in match["dtypes"].split(",") if d), values, flags
