"""Judge kernels that a program wrote: ``python examples/judge.py FOLDER``, of what ``parity run`` left in a folder.

It prints a line of JSON for every kernel and column: right is true or false, or null if that is not known, and why.
Only what docs/judging.md promises to programs is read.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

WRONG = ("fail", "timeout", "crash", "missing kernel")


def judged(folder: Path) -> Iterator[dict[str, Any]]:
    """The state of each kernel in each column; ``why`` has the first failing case, made small, of each class."""
    matrix = json.loads((folder / "matrix.json").read_text())
    failing: dict[tuple[str, str, str], dict[str, str]] = {}
    for record in map(json.loads, (folder / "record.jsonl").read_text().splitlines()):
        if "verdict" in record and record["verdict"]["status"] in WRONG:
            small = record["minimal"] or record
            why = failing.setdefault((record["kernel"], record["runner"], record["target"]), {})
            why.setdefault(record["verdict"]["kind"], f"{small['case']} {small['verdict']['detail']}".strip())
    errors = {(each["module"], each["target"]): each["message"] for each in matrix["compile_errors"]}
    for kernel in matrix["kernels"]:
        for cell in kernel["cells"]:
            why = failing.get((kernel["kernel"], cell["runner"], cell["target"]), {})
            if cell["state"] in ("compile error", "missing kernel"):
                why = {cell["state"]: errors.get((kernel["module"], cell["target"]), "")}
            passed = cell["state"] == "pass" and matrix["complete"] and not cell["vacuous"]
            right = False if why else True if passed else None
            names = {"kernel": kernel["kernel"], "runner": cell["runner"], "target": cell["target"]}
            yield {**names, "right": right, "state": cell["state"], "why": why}


if __name__ == "__main__":
    for each in judged(Path(sys.argv[1])):
        print(json.dumps(each))
