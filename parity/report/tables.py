"""Formats tables: plain text and Markdown with tabulate, coloured text with rich.

``heads`` has one item per column, or is empty. A cell is a string, or a coloured ``Text`` of rich. ``right`` contains
the indices of right-aligned columns.
"""

from __future__ import annotations

import csv
import shutil
from collections.abc import Container, Iterable, Sequence
from io import StringIO

from rich.console import Console
from rich.text import Text

Cell = str | Text

GAP = 2
"""Blanks between two columns."""

UNLIMITED = 100_000
"""A width larger than any table, because rich requires one."""


def plain(heads: Sequence[Cell], rows: Iterable[Sequence[Cell]], *, right: Container[int] = ()) -> str:
    """Return aligned text without rules, colours, trailing blanks or a final line end."""
    # The heads are an ordinary row, because tabulate makes columns wider than their heads.
    lines = [[*map(str, heads)]] if heads else []
    return _tabulated("plain", (), [*lines, *([*map(str, row)] for row in rows)], right)


def markdown(heads: Sequence[Cell], rows: Iterable[Sequence[Cell]], *, right: Container[int] = ()) -> str:
    """Return a table in GitHub Markdown, without a final line end."""

    def one_line(cell: Cell) -> str:
        return " ".join(str(cell).replace("|", r"\|").split("\n"))

    return _tabulated("pipe", [*map(one_line, heads)], [[*map(one_line, row)] for row in rows], right)


def _tabulated(form: str, heads: Sequence[str], rows: Sequence[Sequence[str]], right: Container[int]) -> str:
    from tabulate import tabulate  # the import takes 0.1 s, and most commands print no table

    align = ["right" if i in right else "left" for i in range(len(rows[0]) if rows else len(heads))]
    return tabulate(
        rows, heads, form, colalign=align, headersalign=align, preserve_whitespace=True, disable_numparse=True
    )


def comma_separated(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table as CSV."""
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
    """Return coloured text, aligned like ``plain``. ``style`` applies to the heads; ``indent`` is a number of blanks.

    ``width`` limits the length of lines, in characters. Long cells continue in further lines.
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
    """Wrap text between words so that no line exceeds ``width`` characters; None leaves it unchanged."""
    return _text(text) if width is None else _joined(_text(text).wrap(Console(file=StringIO()), width, overflow="fold"))


def terminal_width() -> int | None:
    """Return the width of the output terminal in characters; None for a file or a pipe.

    The environment variable ``COLUMNS`` overrides it everywhere.
    """
    return shutil.get_terminal_size(fallback=(0, 0)).columns or None


def _text(cell: Cell) -> Text:
    return cell if isinstance(cell, Text) else Text(cell)


def _joined(lines: Iterable[Text]) -> Text:
    kept = list(lines)
    for line in kept:
        line.rstrip()
    return Text("\n").join(kept)
