"""Loads a suite: a folder of kernels and a folder of case files that declare their ops."""

from __future__ import annotations

import contextlib
import fnmatch
import functools
import importlib.machinery
import importlib.util
import os
import re
import sys
import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from types import ModuleType

from parity.cases.builtin import has_custom_launch
from parity.compilers.compile_options import Sides
from parity.errors import UsageError, first_names, nearest
from parity.model.case import Case, split
from parity.model.code_object import prebuilt
from parity.op import Entry, NamedCase, Op, Step
from parity.platform.cache import digest
from parity.platform.files import CUDA_SUFFIXES, require_file
from parity.platform.integrity import check_integrity, protect, restoring_interpreter
from parity.platform.time_limit import TimeLimitExceeded, end_stuck_process, time_limit
from parity.porting import has_source
from parity.suite.corpus import read_corpus
from parity.suite.imported_files import forget_changed_modules, recording
from parity.suite.selection import EntryName, Selection, select
from parity.suite.settings import find_project
from parity.triton_kernels.declaring import kernels_in


@dataclass(frozen=True)
class Suite:
    """The ops of a folder of case files, and the folder of the kernels that they call.

    Attributes:
        known: the file of known issues.
        sides: compile options of CUDA's and AMD's side.
        problems: parts of the folders that cannot be used, with file and line. The rest of the suite works.
        case_files: the case file of each op.
        launches: "any", or "host" if cases keep to the launch rule of the op.
        allow_vacuous: names or patterns of the ops whose checks may accept wrong results in every case.
        found: title and text of the corpus's cases, by the name of their entry (``parity.suite.corpus``).
        imported: the files that the case files import and read (``parity.suite.imported_files``).
        instantiated, chosen: as in ``BuildSettings``, by module, instead of what the ops name.
        capture: the file whose launches are the cases, instead of case files.
    """

    kernels: Path
    cases: Path
    ops: Mapping[str, Op] = field(repr=False)
    known: Path | None = None
    sides: Sides = field(default_factory=Sides)
    problems: tuple[str, ...] = ()
    case_files: Mapping[str, Path] = field(default_factory=dict, repr=False)
    launches: str = "any"
    allow_vacuous: tuple[str, ...] = ()
    found: Mapping[str, tuple[tuple[str, str], ...]] = field(default_factory=dict, repr=False)
    imported: tuple[Path, ...] = field(default=(), repr=False)
    capture: Path | None = None
    instantiated: Mapping[str, Sequence[str]] = field(default_factory=dict, repr=False)
    chosen: Mapping[str, Sequence[str]] = field(default_factory=dict, repr=False)

    @functools.cached_property
    def entries(self) -> tuple[Entry, ...]:
        """All entries, in the order of declaration."""
        return tuple(entry for op in self.ops.values() for entry in op.entries())

    @property
    def kernel_entries(self) -> tuple[Entry, ...]:
        """The entries that have a kernel."""
        return tuple(entry for entry in self.entries if not entry.op.library)

    @functools.cached_property
    def modules(self) -> tuple[str, ...]:
        """The modules that have kernels."""
        return tuple(self.files)

    @functools.cached_property
    def files(self) -> Mapping[str, Path]:
        """The source file of each module that has kernels, whether it exists or not."""
        return {op.module: _source_file(self.kernels / op.file) for op in self.ops.values() if not op.library}

    @functools.cached_property
    def missing(self) -> Mapping[str, Path]:
        """The source files that do not exist and are not replaced by a code object, by module."""
        return {module: path for module, path in self.files.items() if not path.is_file() and not prebuilt(path)}

    def entries_in(self, selection: Selection) -> tuple[Entry, ...]:
        """Return the entries of a selection without duplicates: selected entries, then entries of cases."""
        return tuple(dict.fromkeys([*selection.entries, *map(self.entry, selection.cases)]))

    def modules_with(self, entries: Iterable[Entry]) -> list[str]:
        """Return the modules that contain the kernels of these entries, in the order of declaration."""
        wanted = {entry.op.module for entry in entries if not entry.op.library}
        return [module for module in self.modules if module in wanted]

    def op(self, name: str) -> Op:
        """Return the op with that name.

        Raises:
            UsageError: the suite does not have such an op.
        """
        if name not in self.ops:
            near = nearest(name, self.ops) or f"; {self.cases} declares {', '.join(self.ops)}"
            raise UsageError(f"unknown op {name!r}{near}")
        return self.ops[name]

    def found_cases(self, entry: Entry) -> list[tuple[str, str]]:
        """Return title and text of the corpus's cases for an entry."""
        kept = self.found.get(entry.name, ())
        return [(title, text) for title, text in kept if self.launches == "any" or not has_custom_launch(text)]

    def ops_in(self, file: Path) -> tuple[Op, ...]:
        """Return the ops that a case file declares. An op that two files declare belongs to the first file."""
        return tuple(op for op in self.ops.values() if self.case_files[op.name] == file.resolve())

    def parse(self, text: str) -> Case:
        """Parse the text of a case.

        Raises:
            UsageError: it is not a case of this suite.
        """
        return self.op(split(text)[0]).parse(text)

    def entry(self, named: EntryName) -> Entry:
        """Return the kernel entry of a case, task or row.

        Raises:
            UsageError: the suite does not have such an op.
        """
        return Entry(self.op(named.op), named.dtypes)

    def select(self, selectors: Sequence[str], dtypes: Sequence[str] = ()) -> Selection:
        """Return the entries and cases that selectors name (see ``parity.suite.selection.select``).

        Raises:
            UsageError: a selector does not name anything, or nothing is left.
        """
        return select(self.entries, selectors, dtypes, self.parse)


def _source_file(path: Path) -> Path:
    """The file, or the file with another suffix for sources if it does not exist."""
    others = (path.with_suffix(suffix) for suffix in (*CUDA_SUFFIXES, ".hip"))
    return path if path.is_file() else next((each for each in others if each.is_file()), path)


def find_suite(
    start: Path | None = None,
    kernels: Path | None = None,
    cases: Path | None = None,
    known: Path | None = None,
    hip: Path | None = None,
    launches: str | None = None,
) -> Suite:
    """Load the suite of ``find_project``. ``launches`` ("any" or "host") overrides the project.

    Raises:
        UsageError: the configuration is wrong, or a folder cannot be used.
    """
    project = find_project(start, kernels, cases, known, hip)
    suite = load_suite(project.kernels, project.cases, sides=project.sides)
    allowed, ops = project.allow_vacuous if cases is None else (), tuple(suite.ops)
    if unknown := [name for name in allowed if not fnmatch.filter(ops, name)]:
        near = nearest(unknown[0], ops)
        raise UsageError(f"[tool.parity]: allow-vacuous has {unknown[0]!r}, which does not name any op{near}")
    return replace(suite, known=project.known, launches=launches or project.launches, allow_vacuous=allowed)


def load_suite(kernels: Path, cases: Path, *, sides: Sides | None = None, only: Sequence[str] = ()) -> Suite:
    """Load the suite of these folders.

    Case files with errors and ops without a kernel file become ``problems`` of the suite. ``only`` are the names of the
    case files to read (default: all).

    Raises:
        UsageError: a folder is missing or empty, or has no usable file (with file and line).
    """
    if not kernels.is_dir():
        raise _missing_folder("kernels folder", kernels, "kernels")
    if sides and sides.ported and not sides.ported.is_dir():
        raise _missing_folder("folder of the port", sides.ported, "hip")
    forget_changed_modules()
    with kernels_in(kernels):
        modules, problems = _import_case_files([path for path in _case_files(cases) if not only or path.name in only])
    ops, case_files, complaints = _read_ops(modules)
    problems += complaints
    if not ops and not only:
        hint = "complete an op that parity init left as a comment there, or declare one (docs/declarations.md)"
        raise UsageError("\n".join(problems) or f"the files of {cases} declare no op; {hint}")
    imported = sorted({file for module in modules.values() for file in module.__dict__["__parity_files__"]})
    suite = Suite(kernels, cases, ops, sides=sides or Sides(), case_files=case_files, imported=tuple(imported))
    problems += _missing_sources(suite).values()
    if not only and suite.files and len(suite.missing) == len(suite.files):
        if not has_source(kernels):
            raise UsageError(f"the kernels folder {kernels} holds no *.cu or *.hip, and no code object")
        raise UsageError("\n".join(problems))
    found, complaints = read_corpus(suite.ops, suite.case_files)
    return replace(suite, problems=(*problems, *complaints), found=found)


def _case_files(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise _missing_folder("cases folder", folder, "cases")
    found = sorted(path for path in folder.glob("*.py") if not path.name.startswith("_"))
    if not found:
        raise UsageError(f"the cases folder {folder} holds no *.py")
    return found


def _import_case_files(paths: Sequence[Path]) -> tuple[dict[Path, ModuleType], list[str]]:
    """Return the modules of case files, and the problems."""
    modules: dict[Path, ModuleType] = {}
    problems: list[str] = []
    protect()
    for path in paths:
        try:
            modules[path] = _import_case_file(path)
        except UsageError as error:
            problems.append(f"{error}; the ops of this file are left out")
    check_integrity()
    return modules, problems


def _read_ops(modules: Mapping[Path, ModuleType]) -> tuple[dict[str, Op], dict[str, Path], list[str]]:
    """Return the ops of case files and their files by name, and the problems."""
    ops: dict[str, Op] = {}
    case_files: dict[str, Path] = {}
    problems: list[str] = []
    for path, module in modules.items():
        for op in (value for value in vars(module).values() if isinstance(value, Op)):
            if type(op) is not Op:  # its methods could decide verdicts
                problems.append(f"{op.declared}: the op {op.name} is of class {type(op).__name__}; use Op itself")
            elif op.name in ops and ops[op.name] is not op:
                problems.append(f"{op.declared}: the op {op.name} is declared already at {ops[op.name].declared}")
            else:
                ops[op.name] = op
                case_files.setdefault(op.name, path.resolve())
    first_ops: dict[str, Op] = {}
    for name, op in list(ops.items()):
        first = first_ops.setdefault(op.module, op)
        if first.file != op.file:
            problems.append(
                f"{op.declared}: {name} is in {op.file}, but {first.name} in {first.file}: one file per module"
            )
            del ops[name]
    return ops, case_files, problems


class _ContentLoader(importlib.machinery.SourceFileLoader):
    """Compiles a file again when its content differs.

    The standard loader compares the size and the second of the last change, so it misses an edit in the same second.
    """

    def path_stats(self, path: str) -> Mapping[str, int]:
        """Part of the content's digest in place of the time, and the size, which Python writes into the bytecode."""
        content = Path(path).read_bytes()
        return {"mtime": int(digest(content)[:8], 16), "size": len(content)}


def _import_case_file(path: Path) -> ModuleType:
    """Import a case file, or return the module if this process has imported the same content before.

    Raises:
        UsageError: the file cannot be imported, with file and line.
    """
    require_file(path)
    name, content = f"parity_cases_{path.stem}", digest(path.read_bytes())
    module = sys.modules.get(name)
    if module and getattr(module, "__parity_source__", None) == (path.resolve(), content):
        return module
    spec = importlib.util.spec_from_file_location(name, path, loader=_ContentLoader(name, str(path)))
    assert spec and spec.loader  # a .py file always has a loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    importlib.invalidate_caches()
    try:
        with (
            recording(path.parent) as files,
            _own_streams(),
            _refusing_exit(),
            time_limit(),
            end_stuck_process(),
            restoring_interpreter(path),  # the innermost one, because the others need Python as it was
        ):
            spec.loader.exec_module(module)
    except SyntaxError as error:
        raise UsageError(f"{error.filename}:{error.lineno}: {error.msg}") from error
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
        if isinstance(error, UsageError | TimeLimitExceeded):
            raise UsageError(f"{path}:{lines[-1]}: {error}" if lines else str(error)) from error
        where = f"{path}:{lines[-1]}" if lines else str(path)
        raise UsageError(f"{where}: {type(error).__name__}: {_described(error)}") from error
    module.__dict__.update(__parity_source__=(path.resolve(), content), __parity_files__=files)
    return module


@contextlib.contextmanager
def _own_streams() -> Iterator[None]:
    """Let prints go to standard error, because standard output is for results, and restore replaced streams."""
    with contextlib.redirect_stdout(sys.stderr), contextlib.redirect_stderr(sys.stderr):
        yield


@contextlib.contextmanager
def _refusing_exit() -> Iterator[None]:
    """Let ``os._exit`` raise in this process, so that the error names the line. Processes that it forks may end."""
    exit_process, process = os._exit, os.getpid()

    def refuse(status: int) -> None:
        if os.getpid() != process:
            exit_process(status)
        if sys._getframe().f_back is None:  # a handler of atexit: the command has its exit code already
            return
        raise SystemExit(f"os._exit({status})")

    os._exit = refuse  # type: ignore[assignment]
    try:
        yield
    finally:
        os._exit = exit_process


def _described(error: BaseException) -> str:
    """The message of an error. For a field that a declaration does not have, parity's hint replaces Python's."""
    known = {each.__name__: [field.name for field in fields(each)] for each in (Op, NamedCase, Step)}
    found = re.match(r"(\w+)\.__init__\(\) got an unexpected keyword argument '(\w+)'", str(error))
    return found[0] + nearest(found[2], known[found[1]]) if found and found[1] in known else str(error)


def problems_of(suite: Suite, selection: Selection) -> tuple[str, ...]:
    """Return the problems of a suite that concern a selection: all, except missing sources of other modules."""
    selected = {entry.op.module for entry in suite.entries_in(selection)}
    others = {text for module, text in _missing_sources(suite).items() if module not in selected}
    return tuple(each for each in suite.problems if each not in others)


def _missing_sources(suite: Suite) -> dict[str, str]:
    """A problem for each module whose source file does not exist."""
    problems = {}
    for module in suite.missing:
        known = [path.name for suffix in (*CUDA_SUFFIXES, ".hip") for path in suite.kernels.glob(f"*{suffix}")]
        ops = [op for op in suite.ops.values() if op.module == module]
        names, near = [op.name for op in ops], nearest(ops[0].file, known)
        problems[module] = f"{ops[0].declared}: op {first_names(names, 1)}: there is no {suite.files[module]}{near}"
    return problems


def _missing_folder(what: str, folder: Path, key: str) -> UsageError:
    """The error for a folder that does not exist, or whose name the locale cannot encode."""
    encoding = sys.getfilesystemencoding()
    locale = (
        ""
        if encoding == "utf-8" or str(folder).isascii()
        else f"; the locale of this process reads names of files as {encoding}: if they are UTF-8, set PYTHONUTF8=1"
    )
    return UsageError(f"the {what} {folder} does not exist; set [tool.parity] {key} in pyproject.toml{locale}")
