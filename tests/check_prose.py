"""Checks docstrings, comments, messages and pages against the patterns of prose.csv.

Usage: ``python tests/check_prose.py [PATH ...]``.
"""

from __future__ import annotations

import csv
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
FENCE = re.compile(r"^\s*(```|~~~)")
CODE = re.compile(r"``[^`]*``|`[^`]*`|\"[^\"]*\"")
COMMENT = re.compile(r"//+(.*)|^\s*/?\*+(.*)")
CPP = {".h", ".cpp", ".c", ".cu", ".cuh"}


class Finding(NamedTuple):
    """A line that matches a pattern."""

    path: Path
    line: int
    text: str
    advice: str


def rules() -> list[tuple[re.Pattern[str], str]]:
    """Read the patterns of prose.csv with their advice."""
    with Path(__file__).with_name("prose.csv").open(encoding="utf-8", newline="") as file:
        return [(re.compile(row["pattern"]), row["advice"]) for row in csv.DictReader(file)]


def python_prose(path: Path) -> Iterator[tuple[int, str]]:
    """Return the comments of a Python file, and the lines of its strings that contain a sentence."""
    with path.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.string.lstrip("# ")
            elif token.type == tokenize.STRING and token.string.count(" ") > 2:
                for number, line in enumerate(token.string.splitlines(), token.start[0]):
                    yield number, line.strip(" \"'")


def page_prose(path: Path) -> Iterator[tuple[int, str]]:
    """Return the lines of a Markdown page outside code blocks."""
    fenced = False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if FENCE.match(line):
            fenced = not fenced
        elif not fenced and not line.startswith("    "):
            yield number, line


def cpp_prose(path: Path) -> Iterator[tuple[int, str]]:
    """Return the comments of a C++ or CUDA file."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if match := COMMENT.search(line):
            yield number, (match[1] or match[2] or "").strip(" */")


def prose(path: Path) -> Iterator[tuple[int, str]]:
    """Return the lines of a file that are read as prose, without code."""
    read = {".py": python_prose, ".md": page_prose, **dict.fromkeys(CPP, cpp_prose)}.get(path.suffix)
    for number, line in read(path) if read else ():
        yield number, CODE.sub("X", line)


def check(paths: list[Path]) -> list[Finding]:
    """Return every line of these files that matches a pattern."""
    known = rules()
    return [
        Finding(path, number, line, advice)
        for path in paths
        for number, line in prose(path)
        for pattern, advice in known
        if pattern.search(line)
    ]


def tracked() -> list[Path]:
    """Return the files of the repository, without generated reports and the sources of foreign projects."""
    names = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
    skipped = (
        *("reports/", "tests/foreign/", "parity/report/html/vendor/", "tests/check_prose.py", "tests/test_prose.py"),
        "parity/mutation/operators.csv",  # stored results have names from it
    )
    return [ROOT / name for name in names if name and not name.startswith(skipped) and (ROOT / name).is_file()]


def main() -> int:
    """Print the findings of the given files, or of all; return 1 if there are any."""
    chosen = [Path(argument).resolve() for argument in sys.argv[1:]]
    paths = [path for path in tracked() if not chosen or any(path.is_relative_to(each) for each in chosen)]
    found = check(paths)
    for each in found:
        print(f"{each.path.relative_to(ROOT)}:{each.line}: {each.text[:100]}  ({each.advice})")
    print(f"{len(found)} findings in {len(paths)} files")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
