"""Tables in GitHub's Markdown, which all reports for the web are made of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

__all__ = ["github_table"]


def github_table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, right: int = 0) -> str:
    """The rows below a line of column names, without a final line end; the last ``right`` columns aligned right."""
    rule = ["---"] * (len(columns) - right) + ["---:"] * right
    return "\n".join(f"| {' | '.join(line)} |" for line in (columns, rule, *rows))
