"""Plain, Markdown and coloured tables, and their width."""

from __future__ import annotations

import subprocess
import sys

import pytest
from rich.text import Text

from parity.report.tables import coloured, folded, markdown, plain, terminal_width

HEADS = ["reduce", "gfx1100", "note"]
ROWS = [["  sum", "12 us", "[f16] a|b"], ["  max", "1 us", ""]]


def test_plain_table_is_aligned_and_keeps_indent():
    assert plain(HEADS, ROWS, right=[1]).splitlines() == [
        "reduce  gfx1100  note",
        "  sum     12 us  [f16] a|b",
        "  max      1 us",
    ]
    assert plain((), [["a", "b"], ["", "c"]]) == "a  b\n   c"
    assert plain((), []) == "" and plain(["a", "b"], []) == "a  b"


@pytest.mark.parametrize("heads", [HEADS, ()])
def test_coloured_table_is_aligned_like_plain(heads):
    rows = [[Text(first, "red"), *rest] for first, *rest in ROWS]
    text = coloured(heads, rows, right=[1])
    assert text.plain == plain(heads, ROWS, right=[1])
    red = [text.plain[span.start : span.end].strip() for span in text.spans if "red" in str(span.style)]
    assert red == ["sum", "max"]
    assert coloured(heads, rows, right=[1], indent=2).plain.splitlines()[-1] == f"  {text.plain.splitlines()[-1]}"


@pytest.mark.parametrize("width", range(12, 30))
def test_long_cells_continue_in_further_lines(width):
    text = coloured(HEADS, ROWS, right=[1], width=width).plain
    assert max(map(len, text.splitlines())) <= width
    said = "".join([*HEADS, *(cell for row in ROWS for cell in row)])
    assert sorted("".join(text.split())) == sorted("".join(said.split()))


def test_markdown_escapes_cells():
    table = markdown(
        ["kernel", "time", "note"], [["`neg`", "1 us", "a|b"], ["`exp`", "22 us", "two\nlines"]], right=[1]
    )
    assert [[cell.strip() for cell in line[1:-1].split(" | ")] for line in table.splitlines() if "--" not in line] == [
        ["kernel", "time", "note"],
        ["`neg`", "1 us", r"a\|b"],
        ["`exp`", "22 us", "two lines"],
    ]
    left, right, _ = table.splitlines()[1][1:-1].split("|")
    assert left.startswith(":-") and right.endswith("-:")


def test_markdown_without_rows_has_heads():
    assert [line.count("|") for line in markdown(["kernel", "time"], []).splitlines()] == [3, 3]


def test_folded_text_breaks_between_words():
    assert folded("passed of run; exact", 13).plain.splitlines() == ["passed of", "run; exact"]
    assert folded("passed of run; exact", None).plain == "passed of run; exact"


def test_terminal_width_is_none_in_pipe(monkeypatch, capfd):
    monkeypatch.delenv("COLUMNS", raising=False)
    assert terminal_width() is None
    monkeypatch.setenv("COLUMNS", "90")
    assert terminal_width() == 90


def test_command_starts_without_table_libraries():
    code = "import sys, parity.cli as c; c.main(['list', 'fill.fill']); print({'pandas', 'tabulate'} & {*sys.modules})"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.splitlines()[-1] == "set()"
