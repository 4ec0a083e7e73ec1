"""Run the gallery, ``python -m gallery [NAME...]``: each project of ``gallery.toml`` before and after its fix.

The exit code is 0 if every project fails as expected before its fix and passes after it, otherwise 1.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import parity
from parity.report.excerpts import SourceFolders
from parity.report.failures import Reproduction, failure_text
from parity.report.model import CellState

HERE = Path(__file__).parent
JUDGES = frozenset({CellState.BASELINE, CellState.NOT_JUDGED})
"""States of the CUDA oracle. It is not judged if the AMD side has no result to compare."""


@dataclass(frozen=True)
class Bug:
    """A row of ``gallery.toml``, which documents the fields."""

    name: str
    kind: str
    link: str
    what: str
    fails: tuple[str, ...]
    passes: tuple[str, ...] = ()
    failure: str = ""
    says: str = ""
    before: str = ""
    after: str = ""

    @property
    def folder(self) -> Path:
        """The folder of the project."""
        return HERE / self.name


@dataclass(frozen=True)
class Outcome:
    """The states and failures of each target, as in the matrix, and the texts of the failures."""

    cells: Mapping[str, frozenset[str]]
    said: str = ""


def bugs() -> tuple[Bug, ...]:
    """Return the rows of the table in order."""
    rows = tomllib.loads((HERE / "gallery.toml").read_text())["bug"]
    return tuple(
        Bug(**{name: tuple(value) if isinstance(value, list) else value for name, value in row.items()}) for row in rows
    )


def execute(bug: Bug, state: str, settings: parity.Settings | None = None) -> Outcome:
    """Run one project with its port ``before`` or ``after`` the fix."""
    suite = parity.find_suite(bug.folder, hip=bug.folder / state)
    selectors = [selector] if (selector := getattr(bug, state)) else []
    run = parity.Run.of(*selectors, targets=bug.fails + bug.passes, suite=suite, settings=settings)
    results = run.build().execute()
    cells = {
        column.target: frozenset(str(word) for cell in found for word in (cell.state, *cell.failures))
        for column, found in results.matrix.by_column()
    }
    sources = SourceFolders.of(suite)
    said = (failure_text(failure, Reproduction(), sources) for failure in results.failures)
    return Outcome(cells, "\n\n".join((*said, *results.notes)))


def mistake(bug: Bug, state: str, outcome: Outcome) -> str:
    """Return how an outcome differs from the table, or an empty string."""
    found = bug.failure and state == "before"
    expected = {
        target: bug.failure if found and target in bug.fails else CellState.PASS for target in bug.fails + bug.passes
    }
    for target in dict.fromkeys((*expected, *outcome.cells)):
        cell, word = outcome.cells.get(target, frozenset()), expected.get(target, CellState.BASELINE)
        right = cell <= JUDGES if target not in expected else cell == {word} if word == CellState.PASS else word in cell
        if not right:
            return f"{target} {_words(cell)}, expected: {word}"
    if found and bug.says not in outcome.said:
        return f"it does not say: {bug.says}"
    return ""


def _words(cell: frozenset[str]) -> str:
    return " ".join(sorted(cell - {CellState.FAIL})) or "nothing"


def main() -> int:
    """Run the named projects, or all, and print a line for each state of each project."""
    known = {bug.name: bug for bug in bugs()}
    parser = argparse.ArgumentParser(prog="python -m gallery", description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"default: all of {' '.join(known)}")
    names = parser.parse_args().names
    if unknown := [name for name in names if name not in known]:
        parser.error(f"no project is named {unknown[0]!r}; there are {' '.join(known)}")
    mistakes = 0
    for bug in [known[name] for name in names] or known.values():
        for state in ("before", "after"):
            outcome = execute(bug, state)
            cells = "  ".join(f"{target} {_words(cell)}" for target, cell in sorted(outcome.cells.items()))
            print(f"{bug.name:16} {state:7} {cells}", flush=True)
            if problem := mistake(bug, state, outcome):
                mistakes += 1
                print(f"{'':16} not as gallery.toml has it: {problem}\n{outcome.said}", flush=True)
    return 1 if mistakes else 0


if __name__ == "__main__":
    sys.exit(main())
