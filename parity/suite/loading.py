"""Suites: a folder of kernels and a folder of case files, found through ``[tool.parity]`` or shipped with parity."""

from __future__ import annotations

import contextlib
import fnmatch
import functools
import importlib.util
import re
import sys
import tomllib
import traceback
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol, get_args

from msgspec import Meta, Struct

from parity.cases.builtin import has_custom_launch
from parity.compilers.compile_options import CompileOptions, Sides
from parity.errors import UsageError, nearest, some_of
from parity.model.case import Case, split
from parity.model.code_object import prebuilt
from parity.op import Entry, NamedCase, Op, Step
from parity.platform.files import CUDA_SUFFIXES, below, regular, text_of
from parity.platform.serialization import checked
from parity.suite.corpus import read_found

__all__ = [
    "LAUNCHES",
    "SHIPPED",
    "Project",
    "Selection",
    "Suite",
    "find_project",
    "find_suite",
    "load_suite",
    "settings_of",
]

Launches = Literal["any", "host"]
LAUNCHES = get_args(Launches)
"""The kinds of launches that cases are drawn with: any, or only those of the op's own rule, which the host has."""

SHIPPED = Path(__file__).parents[1] / "_suite"
"""The suite that an installed parity has."""

SHIPPED_ARCH = 890
"""The value of ``__CUDA_ARCH__`` for other kernels that are compared with the cases of the suite shipped with parity:
with it, the kernels of bfloat16 and of 8 bits are compiled.
"""


class _Settings(Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """The keys of ``[tool.parity]``; ``-`` and ``_`` are the same in a name.

    Without ``known_issues``, ``known-issues.toml`` is read where there is one.
    """

    kernels: str | None = None
    hip: str | None = None
    cases: str = "cases"
    known_issues: str | None = None
    launches: Launches = "any"
    cuda_arch: Annotated[int, Meta(ge=1, le=9999, description="a number such as 890, which is sm_89")] | None = None
    include: list[str] = []
    flags: list[str] = []
    force_include: list[str] = []
    cuda_include: list[str] = []
    cuda_flags: list[str] = []
    cuda_force_include: list[str] = []
    hip_include: list[str] = []
    hip_flags: list[str] = []
    hip_force_include: list[str] = []


class OfEntry(Protocol):
    """An object that names a kernel entry: a case, a task, a row of the matrix."""

    @property
    def op(self) -> str:
        """The name of the op."""

    @property
    def dtypes(self) -> tuple[str, ...]:
        """Its dtypes."""


@dataclass(frozen=True)
class Selection:
    """The selection of a run: kernel entries to draw cases for, and cases given by their text."""

    entries: tuple[Entry, ...]
    cases: tuple[Case, ...] = ()


@dataclass(frozen=True)
class Suite:
    """The ops of a folder of case files, the folder of the kernels they call, and the file of known issues, if any.

    ``sides`` says how CUDA's and AMD's side are compiled. ``problems`` says, with file and line, what of the folders
    cannot be used; everything else can. ``declared`` is the case file of each op. ``launches`` is "any", or "host" if
    cases keep to the host's own launches. ``found`` are title and text of the cases that are kept beside case files, by
    the name of their entry (``parity.suite.corpus``).
    """

    kernels: Path
    cases: Path
    ops: Mapping[str, Op] = field(repr=False)
    known: Path | None = None
    sides: Sides = field(default_factory=Sides)
    problems: tuple[str, ...] = ()
    declared: Mapping[str, Path] = field(default_factory=dict, repr=False)
    launches: str = "any"
    found: Mapping[str, tuple[tuple[str, str], ...]] = field(default_factory=dict, repr=False)

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
        """The file of each module that has kernels, whether it is there or not."""
        return {op.module: _source_file(self.kernels / op.file) for op in self.ops.values() if not op.library}

    @functools.cached_property
    def missing(self) -> Mapping[str, Path]:
        """The file of each module whose file is not there, and no code object in its place."""
        return {module: path for module, path in self.files.items() if not path.is_file() and not prebuilt(path)}

    def entries_of(self, selection: Selection) -> tuple[Entry, ...]:
        """The entries of a selection, each once: those selected, then those of cases."""
        return tuple(dict.fromkeys([*selection.entries, *map(self.entry, selection.cases)]))

    def modules_of(self, entries: Iterable[Entry]) -> list[str]:
        """The modules with the kernels of these entries, in the order of declaration; an op of libraries has none."""
        wanted = {entry.op.module for entry in entries if not entry.op.library}
        return [module for module in self.modules if module in wanted]

    def op(self, name: str) -> Op:
        """The op of that name.

        Raises:
            UsageError: there is none.
        """
        if name not in self.ops:
            near = nearest(name, self.ops) or f"; {self.cases} declares {', '.join(self.ops)}"
            raise UsageError(f"unknown op {name!r}{near}")
        return self.ops[name]

    def found_cases(self, entry: Entry) -> list[tuple[str, str]]:
        """Title and text of the cases of an entry that are kept beside its case file."""
        kept = self.found.get(entry.name, ())
        return [(title, text) for title, text in kept if self.launches == "any" or not has_custom_launch(text)]

    def ops_of(self, file: Path) -> tuple[Op, ...]:
        """The ops that a case file declares; an op that two files share is the first one's."""
        return tuple(op for op in self.ops.values() if self.declared[op.name] == file.resolve())

    def parse(self, text: str) -> Case:
        """The case with that text.

        Raises:
            UsageError: it is not a case of this suite.
        """
        return self.op(split(text)[0]).parse(text)

    def entry(self, about: OfEntry) -> Entry:
        """The kernel entry that a case calls, or that a task is about.

        Raises:
            UsageError: there is no such op.
        """
        return Entry(self.op(about.op), about.dtypes)

    def select(self, selectors: Sequence[str], dtypes: Sequence[str] = ()) -> Selection:
        """The selection that selectors name: ops, modules, patterns, kernel entries, or printed cases; all if none.

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
                known = [*self.ops, *(op.module for op in self.ops.values()), *(entry.kernel for entry in self.entries)]
                near = nearest(selector, known) or "; parity list shows all"
                raise UsageError(f"{selector!r} names no op, module or kernel entry{near}")
            chosen.update(dict.fromkeys(found))
        entries = [e for e in chosen if not dtypes or set(dtypes) & set(e.dtypes)]
        if not entries and not cases:
            raise UsageError(f"{' '.join(selectors) or 'the suite'} has no kernel for dtype {' or '.join(dtypes)}")
        return Selection(tuple(entries), tuple(cases))


def _source_file(path: Path) -> Path:
    """The file, or the source of that name with another suffix where it is not there."""
    others = (path.with_suffix(suffix) for suffix in (*CUDA_SUFFIXES, ".hip"))
    return path if path.is_file() else next((each for each in others if each.is_file()), path)


def _matches(entry: Entry, selector: str) -> bool:
    names = (entry.op.name, entry.op.module, entry.kernel, entry.name)
    return any(name == selector or fnmatch.fnmatchcase(name, selector) for name in names)


@dataclass(frozen=True)
class Project:
    """The settings of ``[tool.parity]``: the folders, known issues, and the compiler settings of the kernels."""

    kernels: Path
    cases: Path
    known: Path | None = None
    sides: Sides = field(default_factory=Sides)
    launches: str = "any"


def find_project(
    start: Path | None = None,
    kernels: Path | None = None,
    cases: Path | None = None,
    known: Path | None = None,
    hip: Path | None = None,
) -> Project:
    """The project around ``start`` (default: the working folder), else the suite shipped with parity.

    ``kernels``, ``cases``, ``known`` and ``hip`` replace those of the project. With other ``cases`` its known issues
    are left out, with other ``kernels`` its ported sources. The folders need not exist yet.

    Raises:
        UsageError: the configuration is wrong.
    """
    place = (start or Path.cwd()).resolve()
    for folder in (place, *place.parents):
        config = folder / "pyproject.toml"
        said = settings_of(config)
        if said is not None:
            table = _settings(config, said)
            issues = folder / (table.known_issues or "known-issues.toml")
            ported = folder / table.hip if table.hip is not None else None
            own = None if table.kernels is None else folder / table.kernels
            found = Project(
                own or ported or folder / "kernels",  # a folder of HIP sources alone is a project, too
                folder / table.cases,
                issues if not cases and (table.known_issues is not None or issues.is_file()) else None,
                Sides(
                    _side(folder, table, "cuda_"),
                    _side(folder, table, "hip_"),
                    ported if own else None,
                    table.cuda_arch,
                ),
                table.launches,
            )
            break
    else:
        found = Project(SHIPPED / "kernels", SHIPPED / "cases", sides=Sides(cuda_arch=SHIPPED_ARCH))
    # The ports that the project names are those of its own kernels.
    port = hip or (found.sides.ported if not kernels else None)
    return replace(
        found,
        kernels=kernels or found.kernels,
        cases=cases or found.cases,
        known=known or found.known,
        sides=replace(found.sides, ported=port),
    )


def _side(folder: Path, table: _Settings, prefix: str) -> CompileOptions:
    """The settings of one side: those for both sides, then its own."""
    include, flags, forced = (
        [*getattr(table, what), *getattr(table, prefix + what)] for what in ("include", "flags", "force_include")
    )
    for name in include:
        if not (folder / name).is_dir():
            raise UsageError(
                f"{folder / 'pyproject.toml'}: [tool.parity]: include has {name!r}, which is no folder there"
            )
    return CompileOptions.of(folder, include, flags, forced)


def find_suite(
    start: Path | None = None,
    kernels: Path | None = None,
    cases: Path | None = None,
    known: Path | None = None,
    hip: Path | None = None,
    launches: str | None = None,
) -> Suite:
    """The suite of ``find_project``; ``launches`` ("any" or "host") replaces what that says.

    Raises:
        UsageError: the configuration is wrong, or a folder cannot be used.
    """
    project = find_project(start, kernels, cases, known, hip)
    suite = load_suite(project.kernels, project.cases, sides=project.sides)
    return replace(suite, known=project.known, launches=launches or project.launches)


def settings_of(config: Path) -> dict[str, Any] | None:
    """The table ``[tool.parity]`` of a file; None if the file or the table is not there.

    Raises:
        UsageError: it is no TOML, or no table.
    """
    try:
        if not config.is_file():
            return None
        document = tomllib.loads(text_of(config))
    except OSError:
        return None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{config} is not valid TOML: {error}") from error
    tools = document.get("tool", {})
    if not isinstance(tools, dict):
        raise UsageError(f"{config}: tool = {tools!r}; it has to be a table, whose parts begin with [tool.NAME]")
    table = tools.get("parity")
    if table is not None and not isinstance(table, dict):
        raise UsageError(f"{config}: tool.parity must be a table with the folders kernels and cases")
    return table


def _settings(config: Path, said: Mapping[str, object]) -> _Settings:
    place = f"{config}: [tool.parity]"
    for name, value in said.items():
        if any("\0" in each for each in (value if isinstance(value, list) else [value]) if isinstance(each, str)):
            raise UsageError(f"{place}: {name} is {value!r}, which has a NUL; no path or option can have one")
    return checked({name.replace("_", "-"): value for name, value in said.items()}, _Settings, place)


def load_suite(kernels: Path, cases: Path, *, sides: Sides | None = None, only: Sequence[str] = ()) -> Suite:
    """The suite of these folders. A case file with an error, or an op whose kernel has no file, is a problem of it.

    ``only`` are the names of the case files that are read, where they are not all.

    Raises:
        UsageError: a folder is missing or empty, or nothing in it can be used (with file and line).
    """
    if not kernels.is_dir():
        raise _absent("kernels folder", kernels, "kernels")
    if sides and sides.ported and not sides.ported.is_dir():
        raise _absent("folder of the port", sides.ported, "hip")
    ops: dict[str, Op] = {}
    places: dict[str, Path] = {}
    problems: list[str] = []
    for path in _case_files(cases):
        if only and path.name not in only:
            continue
        try:
            declared = _ops(path)
        except UsageError as error:
            problems.append(f"{error}; the ops of this file are left out")
            continue
        for op in declared:
            if op.name in ops and ops[op.name] is not op:
                problems.append(f"{op.declared}: the op {op.name} is declared already at {ops[op.name].declared}")
            else:
                ops[op.name] = op
                places.setdefault(op.name, path.resolve())
    files: dict[str, Op] = {}
    for name, op in list(ops.items()):
        first = files.setdefault(op.module, op)
        if first.file != op.file:
            problems.append(
                f"{op.declared}: {name} is in {op.file}, but {first.name} in {first.file}: one file per module"
            )
            del ops[name]
    if not ops and not only:
        left = "complete an op that parity init left as a comment there, or declare one (docs/declarations.md)"
        raise UsageError("\n".join(problems) or f"the files of {cases} declare no op; {left}")
    suite = Suite(kernels, cases, ops, sides=sides or Sides(), declared=places)
    for module in suite.missing:
        known = [path.name for suffix in (*CUDA_SUFFIXES, ".hip") for path in kernels.glob(f"*{suffix}")]
        names = [op.name for op in ops.values() if op.module == module]
        near = nearest(files[module].file, known)
        problems.append(f"{files[module].declared}: op {some_of(names, 1)}: there is no {suite.files[module]}{near}")
    if not only and suite.files and len(suite.missing) == len(suite.files):
        if not any(below(kernels, *CUDA_SUFFIXES, ".hip")):
            raise UsageError(f"the kernels folder {kernels} holds no *.cu or *.hip, and no code object")
        raise UsageError("\n".join(problems))
    found, complaints = read_found(suite.ops, suite.declared)
    return replace(suite, problems=(*problems, *complaints), found=found)


def _absent(what: str, folder: Path, key: str) -> UsageError:
    """The error for a folder that is not there, or whose name the locale cannot say."""
    encoding = sys.getfilesystemencoding()
    locale = (
        ""
        if encoding == "utf-8" or str(folder).isascii()
        else (f"; the locale of this process reads names of files as {encoding}: if they are UTF-8, set PYTHONUTF8=1")
    )
    return UsageError(f"the {what} {folder} does not exist; set [tool.parity] {key} in pyproject.toml{locale}")


def _keyword_meant(error: BaseException) -> str:
    """The fields that may have been meant by a name that a declaration does not have."""
    known = {each.__name__: [field.name for field in fields(each)] for each in (Op, NamedCase, Step)}
    found = re.match(r"(\w+)\.__init__\(\) got an unexpected keyword argument '(\w+)'", str(error))
    return nearest(found[2], known[found[1]]) if found and found[1] in known else ""


def _case_files(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise _absent("cases folder", folder, "cases")
    found = sorted(path for path in folder.glob("*.py") if not path.name.startswith("_"))
    if not found:
        raise UsageError(f"the cases folder {folder} holds no *.py")
    return found


def _ops(path: Path) -> list[Op]:
    regular(path)
    name = f"parity_cases_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:  # pragma: no cover - a .py file always has a loader
        raise UsageError(f"{path} cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        with contextlib.redirect_stdout(sys.stderr):  # standard output is for results
            spec.loader.exec_module(module)
    except SyntaxError as error:
        raise UsageError(f"{error.filename}:{error.lineno}: {error.msg}") from error
    except (Exception, SystemExit) as error:
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
        if isinstance(error, UsageError):
            raise UsageError(f"{path}:{lines[-1]}: {error}" if lines else str(error)) from error
        where = f"{path}:{lines[-1]}" if lines else str(path)
        raise UsageError(f"{where}: {type(error).__name__}: {error}{_keyword_meant(error)}") from error
    return [value for value in vars(module).values() if isinstance(value, Op)]
