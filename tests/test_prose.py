"""The prose check finds phrases to avoid in comments, docstrings, messages and pages, and skips code."""

import csv
from pathlib import Path

import pytest
from check_prose import check, tracked

ROWS = list(csv.DictReader(Path(__file__).with_name("prose.csv").open(encoding="utf-8", newline="")))


def advice(tmp_path: Path, name: str, text: str) -> list[tuple[int, str]]:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return [(found.line, found.advice) for found in check([path])]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["advice"])
def test_prose_row_finds_its_example(tmp_path, row):
    assert (1, row["advice"]) in advice(tmp_path, "page.md", f"{row['example']}\n")


@pytest.mark.parametrize(
    ("name", "text", "lines"),
    [
        ("module.py", '"""A cache of its own."""\nx = 1  # a line beside it\n', [1, 2]),
        ("module.py", 'print(f"{x} is no multiple of {y}, try again")\n', [1]),
        ("module.py", "beside = of_its_own = 1\n", []),
        ("header.h", "int beside; // a line beside it\n/* a cache of its own */\n", [1, 2]),
        ("page.md", "```\na line beside it\n```\n\n    a line beside it\n\n`a line beside it`\n", []),
        ("page.md", "There is no code for it, which is no longer a surprise.\n", []),
        ("page.md", "What is the error bound of tanh?\n", []),
    ],
    ids=[
        "docstring and comment",
        "message",
        "identifiers",
        "C++ comments",
        "code in a page",
        "correct English",
        "question",
    ],
)
def test_prose_in_file_is_found_and_code_is_skipped(tmp_path, name, text, lines):
    assert [line for line, _ in advice(tmp_path, name, text)] == lines


def test_prose_check_covers_every_kind_of_file():
    assert {".py", ".md", ".h", ".cpp", ".cuh"} <= {path.suffix for path in tracked()}
