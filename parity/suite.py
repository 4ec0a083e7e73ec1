"""Suites: a folder of kernels and a folder of case files, found through ``[tool.parity]`` or shipped with parity."""

from __future__ import annotations

import fnmatch
import functools
import importlib.util
import sys
import tomllib
import traceback
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from parity.case import Case, split
from parity.errors import UsageError, nearest
from parity.op import Entry, Op

__all__ = ["Selection", "Suite", "find_suite", "load_suite"]

KNOWN = "known-issues"
"""The setting that names the file of known issues; without it, the file of this name is read where there is one."""


@dataclass(frozen=True)
class Selection:
    """What a run is about: kernel entries to draw cases for, and cases given by their text."""

    entries: tuple[Entry, ...]
    cases: tuple[Case, ...] = ()


@dataclass(frozen=True)
class Suite:
    """The ops of a folder of case files, the folder of the kernels they call, and the file of known issues, if any."""

    kernels: Path
    cases: Path
    ops: Mapping[str, Op] = field(repr=False)
    known: Path | None = None

    @functools.cached_property
    def entries(self) -> tuple[Entry, ...]:
        """All kernel entries, in the order of declaration."""
        return tuple(entry for op in self.ops.values() for entry in op.entries())

    @functools.cached_property
    def modules(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(op.module for op in self.ops.values()))

    def op(self, name: str) -> Op:
        """The op of that name.

        Raises:
            UsageError: there is none.
        """
        if name not in self.ops:
            near = nearest(name, self.ops) or f"; {self.cases} declares {', '.join(self.ops)}"
            raise UsageError(f"unknown op {name!r}{near}")
        return self.ops[name]

    def parse(self, text: str) -> Case:
        """The case with that text.

        Raises:
            UsageError: it is not a case of this suite.
        """
        return self.op(split(text)[0]).parse(text)

    def entry(self, case: Case) -> Entry:
        """The kernel entry that a case calls."""
        return Entry(self.op(case.op), case.dtypes)

    def select(self, selectors: Sequence[str], dtypes: Sequence[str] = ()) -> Selection:
        """What the selectors name: an op, a module, a pattern, a kernel entry, or a printed case; all if none.

        ``dtypes`` keeps the entries that have one of these dtypes.

        Raises:
            UsageError: a selector names nothing, or nothing is left.
        """
        chosen: dict[Entry, None] = {}
        cases = []
        for selector in selectors or ("*",):
            if "(" in selector:
                cases.append(self.parse(selector))
                continue
            found = [entry for entry in self.entries if _matches(entry, selector)]
            if not found:
                known = [*self.ops, *self.modules, *(entry.kernel for entry in self.entries)]
                raise UsageError(f"{selector!r} names no op, module or kernel entry{nearest(selector, known)}")
            chosen.update(dict.fromkeys(found))
        entries = [e for e in chosen if not dtypes or set(dtypes) & set(e.dtypes)]
        if not entries and not cases:
            raise UsageError(f"{' '.join(selectors) or 'the suite'} has no kernel for dtype {' or '.join(dtypes)}")
        return Selection(tuple(entries), tuple(cases))


def _matches(entry: Entry, selector: str) -> bool:
    names = (entry.op.name, entry.op.module, entry.kernel, entry.name)
    return any(name == selector or fnmatch.fnmatchcase(name, selector) for name in names)


def find_suite(
    start: Path | None = None, kernels: Path | None = None, cases: Path | None = None, known: Path | None = None
) -> Suite:
    """The suite of the project around ``start`` (default: the working folder), else the one shipped with parity.

    ``kernels``, ``cases`` and ``known`` (the file of known issues) replace what the project says; known issues of the
    project are none of other ``cases``.

    Raises:
        UsageError: the configuration is wrong or a folder cannot be used.
    """
    place = (start or Path.cwd()).resolve()
    for folder in (place, *place.parents):
        config = folder / "pyproject.toml"
        table = _table(config)
        if table is not None:
            settings = ("kernels", "cases", KNOWN)
            unknown = set(table) - set(settings)
            if unknown:
                word = sorted(unknown)[0]
                raise UsageError(f"{config}: [tool.parity] has no setting {word!r}{nearest(word, settings)}")
            home = {name: folder / str(table.get(name, name)) for name in ("kernels", "cases")}
            issues = folder / str(table.get(KNOWN, f"{KNOWN}.toml"))
            if not cases and (KNOWN in table or issues.is_file()):
                known = known or issues
            break
    else:
        shipped = Path(__file__).parent / "_suite"
        home = {name: shipped / name for name in ("kernels", "cases")}
    return replace(load_suite(kernels or home["kernels"], cases or home["cases"]), known=known)


def _table(config: Path) -> dict[str, object] | None:
    try:
        document = tomllib.loads(config.read_text())
    except OSError:
        return None
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{config} is not valid TOML: {error}") from error
    table = document.get("tool", {}).get("parity")
    if table is not None and not isinstance(table, dict):
        raise UsageError(f"{config}: tool.parity must be a table with the folders kernels and cases")
    return table


def load_suite(kernels: Path, cases: Path) -> Suite:
    """The suite of these two folders.

    Raises:
        UsageError: a folder is missing or empty, or a case file has an error (with file and line).
    """
    _require(kernels, "*.cu", "kernels")
    ops: dict[str, Op] = {}
    for path in _require(cases, "*.py", "cases"):
        for op in _ops(path):
            if op.name in ops and ops[op.name] is not op:
                raise UsageError(f"{path}: the op {op.name} is declared twice")
            ops[op.name] = op
    if not ops:
        raise UsageError(f"the files of {cases} declare no op")
    for op in ops.values():
        if not (kernels / f"{op.module}.cu").is_file():
            known = [path.stem for path in kernels.glob("*.cu")]
            raise UsageError(f"op {op.name}: there is no {kernels / op.module}.cu{nearest(op.module, known)}")
    return Suite(kernels, cases, ops)


def _require(folder: Path, pattern: str, what: str) -> list[Path]:
    if not folder.is_dir():
        raise UsageError(f"the {what} folder {folder} does not exist; set [tool.parity] {what} in pyproject.toml")
    found = sorted(path for path in folder.glob(pattern) if not path.name.startswith("_"))
    if not found:
        raise UsageError(f"the {what} folder {folder} holds no {pattern}")
    return found


def _ops(path: Path) -> Iterable[Op]:
    name = f"parity_cases_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:  # pragma: no cover - a .py file always has a loader
        raise UsageError(f"{path} cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        raise UsageError(f"{error.filename}, line {error.lineno}: {error.msg}") from error
    except Exception as error:
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
        where = f"{path}, line {lines[-1]}" if lines else str(path)
        raise UsageError(f"{where}: {type(error).__name__}: {error}") from error
    return [value for value in vars(module).values() if isinstance(value, Op)]
