"""The corpus: cases that a coverage search found, in files next to case files.

``cases/mylib.found`` belongs to ``cases/mylib.py``. A line is the text of a case, followed by ``#`` and a title. Every
run includes these cases. A case that no longer fits the declarations is reported as a problem of the suite; the
remaining cases are used.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from parity.errors import UsageError
from parity.model.case import split
from parity.op import Op
from parity.platform.files import naming_write_errors, read_text

SUFFIX = ".found"

_HEAD = """\
# Cases that reach code which others do not, found by `parity coverage --lead N --save`. Every run has them.
"""


def read_corpus(
    ops: Mapping[str, Op], declared: Mapping[str, Path]
) -> tuple[dict[str, tuple[tuple[str, str], ...]], list[str]]:
    """Return title and text of the cases by the name of their entry, and the problems of unusable cases."""
    found: dict[str, tuple[tuple[str, str], ...]] = {}
    problems: list[str] = []
    for path in dict.fromkeys(each.with_suffix(SUFFIX) for each in declared.values()):
        if not path.exists():
            continue
        try:
            lines = read_text(path).splitlines()
        except UsageError as error:
            problems.append(str(error))
            continue
        for number, line in enumerate(lines, 1):
            text, _, title = (part.strip() for part in line.partition("#"))
            if not text:
                continue
            try:
                name, dtypes, *_ = split(text)
                if name not in ops:
                    raise UsageError(f"there is no op {name!r}")
                case = str(ops[name].parse(text))
            except UsageError as error:
                problems.append(f"{path}:{number}: the case is left out: {error}; remove the line, or correct it")
                continue
            key = f"{name}[{','.join(dtypes)}]"
            found[key] = (*found.get(key, ()), (title or "found by a search", case))
    return found, problems


def add_to_corpus(path: Path, cases: Iterable[tuple[str, str]]) -> int:
    """Add cases (title and text) to the corpus of a case file. Return the number of new cases.

    Raises:
        UsageError: the file cannot be read or written.
    """
    file = path.with_suffix(SUFFIX)
    before = read_text(file) if file.exists() else _HEAD
    there = {line.partition("#")[0].strip() for line in before.splitlines()}
    new = [f"{text}  # {title}\n" for title, text in cases if text not in there]
    if new:
        with naming_write_errors(file, "change its permissions"):
            file.write_text(before + "".join(new), encoding="utf-8")
    return len(new)
