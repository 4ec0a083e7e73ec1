"""Tables of text: plain and Markdown ones are written by tabulate, coloured ones by rich; and how wide a terminal is.

A table is its heads, one for each column or none, and its rows. A cell is a string, or a ``Text`` of rich, which has
colours; ``right`` are the indices of the columns that are aligned right, 0 is the first.
"""

from __future__ import annotations

import csv
import shutil
from collections.abc import Container, Iterable, Sequence
from io import StringIO

from rich.console import Console
from rich.text import Text

__all__ = ["Cell", "coloured", "comma_separated", "folded", "markdown", "plain", "terminal_width"]

Cell = str | Text

GAP = 2
"""Blanks between two columns."""

UNLIMITED = 100_000
"""A width that no table has; rich wants to be told one."""


def plain(heads: Sequence[Cell], rows: Iterable[Sequence[Cell]], *, right: Container[int] = ()) -> str:
    """Aligned text without rules or colours; no line ends in blanks, and the last has no line end."""
    # As a line like the others, because tabulate makes columns wider than their heads.
    lines = [[*map(str, heads)]] if heads else []
    return _tabulated("plain", (), [*lines, *([*map(str, row)] for row in rows)], right)


def markdown(heads: Sequence[Cell], rows: Iterable[Sequence[Cell]], *, right: Container[int] = ()) -> str:
    """A table in GitHub's Markdown, without a final line end."""

    def one_line(cell: Cell) -> str:
        return " ".join(str(cell).replace("|", r"\|").split("\n"))

    return _tabulated("pipe", [*map(one_line, heads)], [[*map(one_line, row)] for row in rows], right)


def _tabulated(form: str, heads: Sequence[str], rows: Sequence[Sequence[str]], right: Container[int]) -> str:
    from tabulate import tabulate  # it takes a tenth of a second, and most commands print no table

    align = ["right" if i in right else "left" for i in range(len(rows[0]) if rows else len(heads))]
    return tabulate(
        rows, heads, form, colalign=align, headersalign=align, preserve_whitespace=True, disable_numparse=True
    )


def comma_separated(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table as CSV."""
    out = StringIO()
    csv.writer(out, lineterminator="\n").writerows([heads, *rows])
    return out.getvalue()


def coloured(
    heads: Sequence[Cell],
    rows: Iterable[Sequence[Cell]],
    *,
    right: Container[int] = (),
    style: str = "bold",
    indent: int = 0,
    width: int | None = None,
) -> Text:
    """Aligned text with colours, as ``plain`` aligns it; ``style`` is that of the heads, ``indent`` a number of blanks.

    With a ``width``, in characters, no line is longer: cells that do not fit go on in further lines, between words
    where that is possible.
    """
    from rich.table import Table

    table = Table(box=None, padding=(0, GAP, 0, 0), pad_edge=False, header_style=style, show_header=bool(heads))
    body = list(rows)
    for i in range(len(heads) or len(body[0] if body else ())):
        head = heads[i] if heads else ""
        table.add_column(_text(head), justify="right" if i in right else "left", overflow="fold", no_wrap=width is None)
    for row in body:
        table.add_row(*map(_text, row))
    console = Console(file=StringIO(), width=UNLIMITED if width is None else width - indent)
    lines = console.render_lines(table)
    return _joined(Text.assemble(" " * indent, *((each.text, each.style or "") for each in line)) for line in lines)


def folded(text: Cell, width: int | None) -> Text:
    """Text with its lines broken between words so that none is longer than this; None: as it is."""
    return _text(text) if width is None else _joined(_text(text).wrap(Console(file=StringIO()), width, overflow="fold"))


def terminal_width() -> int | None:
    """The width of the terminal that output goes to, in characters; None where it goes to a file or a pipe.

    Where the environment has ``COLUMNS``, that is the width everywhere.
    """
    return shutil.get_terminal_size(fallback=(0, 0)).columns or None


def _text(cell: Cell) -> Text:
    return cell if isinstance(cell, Text) else Text(cell)


def _joined(lines: Iterable[Text]) -> Text:
    kept = list(lines)
    for line in kept:
        line.rstrip()
    return Text("\n").join(kept)
