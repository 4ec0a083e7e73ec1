"""The suite of a capture: an op for each captured kernel that the project has, and a case for each of its launches."""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import tree_sitter

from parity.build.modules import build
from parity.build.result import Built
from parity.build.settings import BuildCallbacks, BuildSettings
from parity.captures.file import Capture, CapturedLaunch, read_capture
from parity.captures.launches import CapturedParameter, captured_call
from parity.emulator.amdgpu.data_sections import data_image
from parity.errors import UsageError, first_names
from parity.inference.signature import SUFFIXES, read_signature
from parity.inference.structures import Structures
from parity.model.case import Case, split
from parity.model.code_object import CodeObject, source_name, spelled, unqualified
from parity.model.dtypes import NUMBERS
from parity.op import Call, Op
from parity.platform.integrity import protect
from parity.porting import closure, find_modules, parse, source_of
from parity.suite.loading import Suite
from parity.suite.selection import Selection
from parity.suite.settings import SHIPPED, Project

_QUALIFIERS = re.compile(r"\b(?:const|volatile|restrict|struct|__restrict__|__restrict|__grid_constant__)\b|[*&]")


@dataclass(frozen=True, eq=False)
class CapturedOp(Op):
    """A kernel of a capture, as the project's sources define it.

    Attributes:
        capture: the capture file.
        symbol: the kernel's symbol on the NVIDIA GPU.
        launches: the numbers of its launches in the capture.
        parameters: the parameters of the AMD kernel.
        variables: the variables of the AMD code.
        place: the file and line of the source.
    """

    capture: Path = Path()
    symbol: str = ""
    launches: tuple[int, ...] = ()
    parameters: tuple[CapturedParameter, ...] = ()
    variables: tuple[str, ...] = ()
    place: str = ""

    def __post_init__(self) -> None:
        for name, value in {"outputs": {}, "declared": self.place}.items():
            object.__setattr__(self, name, value)

    def kernel_name(self, dtypes: Sequence[str], kernel: str = "") -> str:
        """Return the kernel's name, which may contain braces and has no type variables."""
        return self.pattern

    def case(self, number: int) -> Case:
        """Return the case of a launch."""
        types = tuple(self.types[0].split(","))
        return Case(self.name, types, (), (("launch", number),), (self.capture.name,))

    def parse(self, text: str) -> Case:
        """Parse the text of a case.

        Raises:
            UsageError: the capture has no such launch of this kernel.
        """
        op, _, values, _ = split(text)
        number = values.get("launch", "")
        if not (number.isdecimal() and int(number) in self.launches):
            known = first_names([str(each) for each in self.launches], 8)
            raise UsageError(f"{text!r} is not a launch of {op} in {self.capture}; its launches are {known}")
        return self.case(int(number))

    def call(self, case: Case) -> Call:
        """Return the call that repeats the launch of a case.

        Raises:
            Unreferenced: the launch cannot be repeated.
        """
        capture = _capture(self.capture)
        launch = capture.launches[int(dict(case.params)["launch"])]
        return captured_call(capture, launch, self.pattern, self.parameters, self.variables)

    def divergences(self, dtypes: Sequence[str]) -> dict[str, str]:
        """Return nothing: no captured launch was written for a divergence."""
        return {}


_capture = functools.lru_cache(maxsize=4)(read_capture)


def captured_suite(
    path: Path,
    project: Project,
    targets: Sequence[str],
    *,
    jobs: int | None = None,
    done: Callable[[Built], None] | None = None,
) -> Suite:
    """Match the kernels of a capture with the project's sources by name, and return a suite of the launches.

    Builds the modules that mention a captured kernel for ``targets``. Kernels that no module defines become problems of
    the suite.

    Raises:
        UsageError: the capture cannot be read, or the project defines none of its kernels.
        MissingTool: a compiler is not installed.
    """
    protect()
    capture = _capture(path.absolute())
    by_symbol: dict[str, list[CapturedLaunch]] = {}
    for launch in capture.launches:
        by_symbol.setdefault(launch.kernel, []).append(launch)
    modules = find_modules(project.kernels, ported=project.sides.ported)
    words = {unqualified(source_name(symbol)) for symbol in by_symbol}
    read: dict[Path, str] = {}
    sources = {name: _files(each, project, read) for name, each in modules.items()}
    texts = {name: "\n".join(each.values()) for name, each in sources.items()}
    chosen = {n: p for n, p in modules.items() if not texts[n] or words & set(re.findall(r"\w+", texts[n]))}
    templates = [name for symbol in by_symbol if "<" in (name := source_name(symbol))]
    instantiated = {
        module: [name for name in templates if unqualified(name) in _declared_types(texts[module])] for module in chosen
    }
    settings, progress = BuildSettings(project.sides, kernels=instantiated), BuildCallbacks(done)
    built = build(project.kernels, chosen, targets, settings=settings, jobs=jobs, progress=progress) if chosen else []
    ops: dict[str, CapturedOp] = {}
    found: dict[str, set[Path]] = {}
    for module in chosen:
        mine = [each for each in built if each.module == module]
        for symbol, launches in by_symbol.items():
            place = _defining(unqualified(source_name(symbol)), sources[module]) or modules[module]
            if place in found.get(symbol, ()):  # a header that several modules include
                continue
            if op := _op(capture, symbol, launches, mine, texts[module]):
                name = op.name if op.name not in ops else f"{op.name}_{len(ops)}"
                source = modules[module].relative_to(project.kernels).as_posix()
                ops[name] = replace(op, name=name, source=source, place=f"{place}:1")
                found.setdefault(symbol, set()).add(place)
    problems = tuple(_unknown({s: each for s, each in by_symbol.items() if s not in found}, project.kernels))
    if not ops:
        raise UsageError(problems[0] if problems else f"{path} has no launch; capture a program that launches kernels")
    files = dict.fromkeys(ops, path)
    return Suite(
        project.kernels, path.parent, ops, project.known, project.sides, problems, files, allow_vacuous=("*",),
        capture=path.absolute(),
    )  # fmt: skip


def _files(path: Path, project: Project, read: dict[Path, str]) -> Mapping[Path, str]:
    """Return the texts of a source and of the headers that it includes; nothing for a compiled module."""
    return closure(path, project.sides.amd, project.kernels, read).files if path.is_file() else {}


def _defining(kernel: str, files: Mapping[Path, str]) -> Path | None:
    """Return the file that defines a kernel."""
    mentioning = (path for path, text in files.items() if "__global__" in text and kernel in text)
    return next((path for path in mentioning if kernel in _declared_types(files[path])), None)


def _unknown(left: Mapping[str, Sequence[CapturedLaunch]], folder: Path) -> Iterator[str]:
    if left:
        count = sum(map(len, left.values()))
        names = first_names(list(dict.fromkeys(unqualified(source_name(symbol)) for symbol in left)), 6, ", ")
        launches = f"{count} launch{'es' * (count != 1)}"
        hint = "; name the folder of the program's sources: --kernels FOLDER" if folder == SHIPPED / "kernels" else ""
        yield f"{launches} of the capture cannot be replayed: no source in {folder} defines {names}{hint}"


def select_launches(suite: Suite, selection: Selection) -> Selection:
    """Return the cases of a selection: all launches of its entries, and the cases that it names.

    Raises:
        UsageError: several modules define a captured kernel, so that it is unknown which one the program used.
    """
    ops = [entry.op for entry in selection.entries]
    captured = [op for op in ops if isinstance(op, CapturedOp)]
    twice = [symbol for symbol, count in Counter(op.symbol for op in captured).items() if count > 1]
    if twice:
        modules = [op.module for op in captured if op.symbol == twice[0]]
        name = source_name(twice[0])
        raise UsageError(f"{' and '.join(modules)} define {name}; name the module that the program used: {modules[0]}")
    cases = [op.case(number) for op in captured for number in op.launches]
    return Selection((), (*dict.fromkeys([*cases, *selection.cases]),))


def _op(
    capture: Capture, symbol: str, launches: Sequence[CapturedLaunch], built: Sequence[Built], text: str
) -> CapturedOp | None:
    """Return the op for a captured kernel in a module; None if the module does not define it."""
    codes = [each.code_object for each in built if each.code_object]
    module = re.sub(r"\W+", "_", built[0].module)
    code = next((code for code in codes if _matching(code, symbol)), None)
    if code is None:
        name = source_name(symbol)
        if codes or unqualified(name) not in _declared_types(text):
            return None
        parameters, variables = tuple[CapturedParameter, ...](), tuple[str, ...]()  # the module does not compile
    else:
        mine = _matching(code, symbol)
        parameters = _parameters(code, mine, text)
        known = {name for each in data_image(code.listing).sizes for name in (*spelled(each), each)}
        names = {source_name(name) for launch in launches for name in launch.variables}
        variables = tuple(sorted(names & known))
        name = next((each for each in spelled(mine) if code.symbol(each) == mine), mine)
    short = re.sub(r"\W+", "_", name.partition("(")[0]).strip("_")
    types = dict.fromkeys(each.dtype for each in parameters if each.is_pointer and each.dtype in NUMBERS)
    return CapturedOp(
        name=f"{module}.{short}", kernel=name,
        types=(",".join(types) or "u8",), args=" ".join(each.name for each in parameters),
        capture=capture.path, symbol=symbol,
        launches=tuple(each.number for each in launches), parameters=parameters, variables=variables,
    )  # fmt: skip


def _matching(code: CodeObject, symbol: str) -> str:
    """Return the kernel of a code object that a captured symbol names; empty if it has none."""
    names = (code.symbol(each) for each in (symbol, *reversed(spelled(symbol))))
    return next((each for each in names if each in code.kernels), "")


def _parameters(code: CodeObject, symbol: str, text: str) -> tuple[CapturedParameter, ...]:
    """Return the parameters of a kernel, with types from its symbol or from its declaration."""
    kernel, structures = code.kernels[symbol], Structures(text)
    read = read_signature(kernel, None, None, structures).args
    known = {each.key[0]: each.dtype for each in read if not each.inside}
    declared = _declared_types(text).get(unqualified(source_name(symbol)), ())
    found = []
    for i, argument in enumerate(kernel.args):
        c_type = declared[i] if len(declared) == len(kernel.args) else ""
        bare = " ".join(_QUALIFIERS.sub(" ", c_type).split())
        kind = known.get(i) or SUFFIXES.get(structures.element(bare) or bare, "")
        name = re.sub(r"\W+", "_", argument.name.rpartition(".")[0] or argument.name) or f"argument_{i}"
        found.append(CapturedParameter(name, argument.size, argument.kind != "by_value", kind))
    return tuple(found)


@functools.lru_cache(maxsize=64)
def _declared_types(text: str) -> Mapping[str, tuple[str, ...]]:
    """Return the types of the parameters of each kernel that a source defines, by unqualified name."""
    found = {}
    for node in parse(text).nodes():
        if node.type == "function_declarator" and node.parent and "__global__" in source_of(node.parent)[:200]:
            listed, name = node.child_by_field_name("parameters"), node.child_by_field_name("declarator")
            if listed is not None and name is not None:
                parameters = (each for each in listed.named_children if "parameter" in each.type)
                found[unqualified(source_of(name))] = tuple(map(_type_text, parameters))
    return found


def _type_text(parameter: tree_sitter.Node) -> str:
    """Return a parameter without its name and default value."""
    kind, declarator = parameter.child_by_field_name("type"), parameter.child_by_field_name("declarator")
    stars = "*" if declarator is not None and re.search(rb"[*\[]", declarator.text or b"") else ""
    return f"{source_of(kind) if kind else ''} {stars}"
