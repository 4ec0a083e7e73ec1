"""Joins what a newer version of HIP changes in several projects: reports/upgrade.md.

    python -m benchmarks.upgrades PROJECT... -- --rocm wheels,/usr --target gfx90a,gfx1100 > reports/upgrade.md

Runs ``parity run`` with the given options in each project, a folder with ``[tool.parity]``. A folder that has an
``upgrade.md``, the output of an earlier run, is only read.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from parity.report import tables
from parity.report.folder import UPGRADE
from parity.report.upgrade import HEADS

OUTPUT = "parity-out"
_CELL_END = re.compile(r"(?<!\\)\|")
PASSED_OR_FAILED = (0, 1, 3)
"""Exit codes of a run that has a report."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run all projects, and print the report; return 1 if a project has none."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    options = given[given.index("--") + 1 :] if "--" in given else []
    parser = argparse.ArgumentParser("python -m benchmarks.upgrades", description=__doc__)
    parser.add_argument("projects", nargs="+", metavar="PROJECT", type=Path)
    projects = parser.parse_args(given[: len(given) - len(options)]).projects
    reports = {project.resolve().name: report(project, options) for project in projects}
    print(joined({name: text for name, text in reports.items() if text}), end="")
    lacking = [name for name, text in reports.items() if not text]
    if lacking:
        print(f"no kernel was built or run: {', '.join(lacking)}", file=sys.stderr)
    return 1 if lacking else 0


def report(project: Path, options: Sequence[str]) -> str:
    """Return the report on one project, or an empty text."""
    if not (project / UPGRADE).is_file():
        command = [sys.executable, "-m", "parity", "run", *options, "--output", OUTPUT]
        done = subprocess.run(command, cwd=project, stdout=sys.stderr, check=False)
        project = project / OUTPUT
        if done.returncode not in PASSED_OR_FAILED or not (project / UPGRADE).is_file():
            return ""
    return (project / UPGRADE).read_text(encoding="utf-8")


def joined(reports: dict[str, str]) -> str:
    """Return one table with the totals of each project, and one with its changed kernels."""
    totals, changed = [], []
    for name, text in reports.items():
        for line in filter(None, text.splitlines()):
            if not line.startswith("|"):
                totals.append([name, *line.split(": ", 1)])
            elif " -> " in line:  # else the heads, and the line below them
                changed.append([name, *(cell.strip().replace(r"\|", "|") for cell in _CELL_END.split(line[1:-1]))])
    parts = [tables.markdown(("project", "versions", "changes"), totals)]
    if changed:
        parts.append(tables.markdown(("project", *HEADS), changed))
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    sys.exit(main())
