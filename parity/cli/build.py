"""Compile the kernels, and show registers, memory and porting problems of each module for each target.

CUDA sources are translated with hipify first. If nvcc is available, the CUDA side is compiled as well, to show on which
side a source is broken.
"""

from __future__ import annotations

import argparse
import itertools
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from rich.text import Text

from parity.build.modules import build, kernels_to_instantiate
from parity.build.result import Built
from parity.build.settings import BuildCallbacks, BuildSettings
from parity.cli.shared.terminal import build_progress, errors, output, print_json
from parity.compilers.cuda_toolkit import has_nvcc
from parity.compilers.targets import CUDA_TARGET, DEFAULT_TARGETS, target
from parity.compilers.toolchain import versions_of
from parity.errors import UsageError, first_names, nearest, pluralize
from parity.model.code_object import Kernel, plain, source_name, spelled, unqualified
from parity.model.finding import Finding
from parity.platform import serialization
from parity.platform.files import CUDA_SUFFIXES
from parity.porting import (
    Switch,
    Translation,
    find_modules,
    is_cuda_source,
    kernels_of,
    setting_for,
    stubbed_libraries,
)
from parity.report.tables import coloured
from parity.suite.loading import Suite, load_suite
from parity.suite.settings import Project, find_project

COLUMNS = ("entries", "vgprs", "sgprs", "lds_bytes", "scratch_bytes", "spills")
TRANSLATION_FIELDS = [
    *("unmapped", "hazards", "left_out", "empty_headers", "implied", "stubs", "around", "made", "needs", "defects"),
    *("branches", "libraries", "stubbed"),
]
"""The parts of a translation in the JSON output."""
SHOWN_ERRORS, SHOWN_PIECES, SHOWN_ALIKE, SHOWN_BRANCHES = 20, 10, 8, 12
"""The numbers of compiler errors, omitted pieces of code, similar findings and conditions to print."""

Line = tuple[str, str]
"""A line with its style."""

_SIDES = {
    (True, True): "the CUDA side is broken as well",
    (True, False): "only the AMD side is broken: it compiles for CUDA",
    (False, True): "only the CUDA side is broken: it compiles for AMD",
}
"""Which side is broken, by whether AMD's and CUDA's are."""

KINDS = {"global_buffer": "pointer", "": "pointer or 8 bytes"}

HEADS = ("module", "target", "entries", "VGPRs", "SGPRs", "LDS B", "scratch B", "spills", "seconds", "")


def main(arguments: argparse.Namespace) -> int:
    """Build and print; return 1 if a module, or a part of it, does not compile for a requested or default target."""
    project = _project(arguments)
    suite = _suite(project)
    modules = _modules(project, suite, arguments.modules)
    targets = [target(name).name for name in versions_of(dict.fromkeys(arguments.target or DEFAULT_TARGETS))]
    has_cuda = not arguments.target and has_nvcc()
    cuda = {name: path for name, path in modules.items() if has_cuda and is_cuda_source(path)}
    total, found = len(modules) * len(targets) + len(cuda), list[Built]()
    with build_progress(total) as done:

        def finished(one: Built) -> None:
            found.append(one)
            done(one)

        settings = BuildSettings(project.sides, kernels=_triton_kernels(suite) if suite else {})
        callbacks = BuildCallbacks(finished, done.note)
        build_all = partial(build, project.kernels, jobs=arguments.jobs, settings=settings, progress=callbacks)
        stopped: KeyboardInterrupt | None = None
        try:
            found = build_all(modules, targets) + build_all(cuda, [CUDA_TARGET])
        except KeyboardInterrupt as error:
            stopped = error
    order = {module: place for place, module in enumerate(modules)}
    built = sorted(found, key=lambda one: order[one.module])
    _print(arguments, built, project, modules)
    if stopped:
        errors().print(f"parity: {len(built)} of {total} builds are done; the same command continues")
        raise stopped
    required = [one for one in built if not (cuda and one.target == CUDA_TARGET)]
    return 1 if any(one.error or one.changes.faulty for one in required) else 0


def _print(
    arguments: argparse.Namespace, built: Sequence[Built], project: Project, modules: Mapping[str, Path]
) -> None:
    """Print the results of builds, and the compile errors to stderr."""
    if arguments.json:
        print_json([_as_dict(one) for one in built])
    else:
        console = output()
        console.print(_table(built))
        for signature in _signatures(built) if arguments.signatures else ():
            console.print(signature)
        for text, style in _remarks(built, project, modules):
            console.print(text, style=style)
    for text in _failures(built, project.kernels):
        errors().print(text, style="red")


def _project(arguments: argparse.Namespace) -> Project:
    """Find the project. If the user names files outside the project, their common folder is the kernel folder."""
    project = find_project(kernels=arguments.kernels_dir, cases=arguments.cases_dir, hip=arguments.hip_dir)
    files = (Path(name) for name in arguments.modules if name.endswith((*CUDA_SUFFIXES, ".hip")))
    folders = [file.resolve().parent for file in files if file.is_file()]
    if arguments.kernels_dir or all(each.is_relative_to(project.kernels.resolve()) for each in folders):
        return project
    return find_project(kernels=Path(os.path.commonpath(folders)), cases=arguments.cases_dir, hip=arguments.hip_dir)


def _suite(project: Project) -> Suite | None:
    """The suite; None if its case files are missing or broken, because the sources compile without them."""
    with suppress(UsageError):
        return load_suite(project.kernels, project.cases)
    return None


def _modules(project: Project, suite: Suite | None, wanted: Sequence[str]) -> dict[str, Path]:
    """The files to build, by module: the modules of the suite, and other files of the folder by their names."""
    declared = {path: module for module, path in suite.files.items() if module not in suite.missing} if suite else {}
    found = find_modules(project.kernels, ported=project.sides.ported, declared=declared)
    # Case files may name a module differently.
    before = {name: declared.get(path, name) for name, path in found.items()}
    found = {before[name]: path for name, path in found.items()}
    files = {path.resolve(): name for name, path in found.items()}
    wanted = [files.get(Path(name).resolve(), before.get(name, name)) for name in wanted]
    for name in wanted:
        if name not in found:
            names = first_names(tuple(found), SHOWN_PIECES)
            raise UsageError(f"no module {name!r} in {project.kernels}; it has {names}{nearest(name, found)}")
    return {name: found[name] for name in wanted or found}


def _triton_kernels(suite: Suite) -> dict[str, tuple[str, ...]]:
    """The specializations of Triton functions, by module. Other kernels are built as their sources have them."""
    modules = {op.module for op in suite.ops.values() if op.triton_kernel}
    return {module: names for module, names in kernels_to_instantiate(suite).items() if module in modules}


def _numbers(one: Built) -> list[int]:
    return [len(one.entries), *map(one.most, COLUMNS[1:])]


def _as_dict(one: Built) -> dict[str, object]:
    translation = serialization.plain(one.translation or Translation())
    return {
        "module": one.module,
        "target": one.target,
        "error": one.error.log if one.error else None,
        **dict(zip(COLUMNS, _numbers(one), strict=True)),
        "seconds": round(one.seconds, 3),
        "cached": one.cached,
        "kernels": list(one.entries),
        "hip": str(one.hip) if one.hip else None,
        "replaced": dict(one.changes.replaced or {}),
        "errors": [vars(finding) for finding in (one.findings or one.changes.faulty)],
        **{name: translation[name] for name in TRANSLATION_FIELDS},
        "part_of": str(one.part_of) if one.part_of else None,
        "guessed": one.guessed,
        "switches": [
            {"flag": each.flag, "file": str(each.file), "line": each.line, "others": list(each.others)}
            for each in one.switches
        ],
    }


def _table(built: Sequence[Built]) -> Text:
    rows = []
    for one in built:
        numbers = ["" if one.error else str(number) for number in _numbers(one)]
        state = _state(one)
        style = "bold red" if state.isupper() else ""
        rows.append([Text(c, style) for c in (one.module, one.target, *numbers, f"{one.seconds:.2f}", state)])
    return coloured(HEADS, rows, right=range(2, len(HEADS) - 1))


def _state(one: Built) -> str:
    if one.error:
        return "COMPILE ERROR"
    if one.changes.faulty:
        return "COMPILED IN PART"
    return "cached" if one.cached else "compiled"


def _signatures(built: Sequence[Built]) -> Iterator[str]:
    """Yield the kernels and their arguments once for all targets, in the words of an op declaration.

    The CUDA side contributes kernels that do not compile for AMD.
    """
    kernels: dict[tuple[str, str], Kernel] = {}
    for one in sorted(built, key=lambda one: target(one.target).vendor):  # AMD first, whose metadata name all arguments
        for symbol, kernel in one.code_object.kernels.items() if one.code_object else ():
            kernels.setdefault((one.module, plain((spelled(symbol) or (symbol,))[-1])), kernel)
    for kernel in kernels.values():
        names = (argument.name.rpartition(".")[0] or argument.name or "?" for argument in kernel.args)
        sizes = (KINDS.get(a.kind, f"{a.size} bytes") for a in kernel.args)
        takes = ", ".join(f"{name}: {size}" for name, size in zip(names, sizes, strict=True))
        yield f"{source_name(kernel.name)}({takes})"


def _remarks(built: Sequence[Built], project: Project, modules: Mapping[str, Path]) -> Iterator[Line]:
    """Yield what the user should know about the builds, once for all targets."""
    kernels = project.kernels
    yield from _findings(built, project)
    yield from _branches(built, kernels)
    yield from _left_out(built, kernels)
    yield from _libraries(built, kernels)
    yield from _switches(built)
    yield from _one_sided(built)
    for module, whole in dict.fromkeys((one.module, one.part_of) for one in built if one.part_of):
        yield f"{module}: {os.path.relpath(whole)} includes it and was built instead", "yellow"
    for module, symbols in dict.fromkeys((one.module, one.entries) for one in built if one.guessed):
        made = " ".join(source_name(symbol) for symbol in symbols)
        yield f"{module}: no compiled code shows the template arguments of its kernels; built for {made}", "yellow"
    yield from _without_kernels(built, modules)


def _every(built: Sequence[Built], part: str) -> list[Any]:
    """The distinct entries of one part of all translations."""
    return list(dict.fromkeys(each for one in built if one.translation for each in getattr(one.translation, part)))


def _branches(built: Sequence[Built], kernels: Path) -> Iterator[Line]:
    """Yield the first conditions on CUDA macros, with the lines that AMD's compiler omits or includes."""
    branches = _every(built, "branches")
    for branch in branches[:SHOWN_BRANCHES]:
        yield f"{os.path.relpath(kernels / branch.file)}:{branch.line}: {branch.name}: {branch.advice}", "dim"
    if len(branches) > SHOWN_BRANCHES:
        yield f"and {len(branches) - SHOWN_BRANCHES} more conditions on CUDA macros", "dim"


def _left_out(built: Sequence[Built], kernels: Path) -> Iterator[Line]:
    """Yield missing headers and omitted code."""
    for header in _every(built, "empty_headers"):
        yield f"header not found, replaced by an empty one: {header}", "yellow"
    for line in _every(built, "implied"):
        yield f"line added for a missing header (guessed from its name): {line}", "yellow"
    pieces = _every(built, "left_out")
    for piece in (each for each in pieces if each.function):
        what = f"{piece.name} in {piece.function}" if piece.is_call else piece.function
        place = f"{os.path.relpath(kernels / piece.file)}:{piece.line}"
        style = "red" if piece.is_faulty else "bold yellow"
        yield f"{place}: device code left out: {what} ({piece.because})", style
    pieces = [piece for piece in pieces if not piece.function]
    for piece in pieces[:SHOWN_PIECES]:
        what = f"left out: {piece.name}" if piece.end > piece.start else f"read as: {piece.instead}{piece.name}"
        yield f"{os.path.relpath(kernels / piece.file)}:{piece.line}: {what} ({piece.because})", "dim"
    if len(pieces) > SHOWN_PIECES:
        yield f"{pluralize(len(pieces) - SHOWN_PIECES, 'more piece')} left out; --json lists them all", "dim"


def _libraries(built: Sequence[Built], kernels: Path) -> Iterator[Line]:
    """Yield which headers came from stubs, real libraries, other folders and templates, and why."""
    if headers := _every(built, "stubs"):
        yield f"headers replaced by stubs of parity: {' '.join(headers)}", "dim"
        for library, used in dict.fromkeys((each.name, each.stub_used) for each in stubbed_libraries(headers)):
            yield f"the stub of {library} is used {used}", "dim"
    if libraries := _every(built, "libraries"):
        yield f"real libraries used instead of stubs: {', '.join(libraries)}", "dim"
    for finding in _every(built, "stubbed"):
        yield f"the stub of {finding.name} is used: {finding.advice}", "dim"
    if folders := _every(built, "around"):
        named = ", ".join(f'"{os.path.relpath(kernels / folder)}"' for folder in folders)
        yield f"headers found in other folders; to make this explicit: include = [{named}] in [tool.parity]", "dim"
    for header in _every(built, "made"):
        how = f" ({header.advice})" if header.advice else ""
        yield f"header {header.name} comes from {os.path.relpath(kernels / header.file)}{how}", "dim"


def _switches(built: Sequence[Built]) -> Iterator[Line]:
    """Yield a line for each macro that a module needs and that only build files of the project define."""
    modules: dict[Switch, list[str]] = {}
    for one in built:
        for switch in one.switches:
            modules.setdefault(switch, []).append(one.module)
    for switch, names in modules.items():
        others = f" (elsewhere in it {', '.join(switch.others)})" if switch.others else ""
        why = switch.why or f"as {os.path.relpath(switch.file)}:{switch.line} has it{others}"
        explicit = f"to make this explicit: {switch.says}"
        yield f"{' '.join(dict.fromkeys(names))}: built with {switch.flag}, {why}; {explicit}", "yellow"


def _one_sided(built: Sequence[Built]) -> Iterator[Line]:
    """Yield the kernels of each module that only one side has, for example behind ``#ifdef USE_ROCM``."""
    sides: dict[str, dict[str, set[str]]] = {}
    for one in built:
        if one.code_object:
            names = {unqualified(source_name(symbol)) for symbol in one.code_object.kernels}
            sides.setdefault(one.module, {}).setdefault(target(one.target).vendor, set()).update(names)
    for module, found in sides.items():
        for vendor, names in found.items():
            others = set().union(*(each for other, each in found.items() if other != vendor))
            if len(found) > 1 and (own := sorted(names - others)):
                side = "AMD" if vendor == "amd" else "CUDA"
                yield f"{module}: kernels that only {side}'s side has: {first_names(own, SHOWN_PIECES)}", "yellow"


def _without_kernels(built: Sequence[Built], modules: Mapping[str, Path]) -> Iterator[Line]:
    """Yield the modules without kernels, and the modules with kernels in their file that are not in the built code."""
    for module, behind in {one.module: one.behind for one in built if not one.error and not one.entries}.items():
        if behind:
            needed = f"its kernels need a build that defines {setting_for(behind)}"
            yield f"{module}: no kernel was built: {needed}", "yellow"
        elif "__global__" in _text(modules[module]):
            yield (
                f"{module}: no kernel was built: no compiled code instantiates its kernel templates; add a line such "
                "as template __global__ void name<float>(float*); to the file",
                "yellow",
            )
    lacking: dict[tuple[str, str], list[str]] = {}
    for one in built:
        if one.entries and modules[one.module].suffix in (*CUDA_SUFFIXES, ".hip"):
            named = {unqualified(source_name(symbol)) for symbol in one.entries}
            named |= {piece.function for piece in (one.translation.left_out if one.translation else ())}
            if lost := " ".join(name for name in kernels_of(_text(modules[one.module])) if name not in named):
                lacking.setdefault((one.module, lost), []).append(one.target)
    for (module, lost), targets in lacking.items():
        why = "a template has no instance, or a condition excludes the kernel"
        yield f"{module}: no code of {lost} for {' '.join(targets)}: {why}", "yellow"


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""


def _failures(built: Sequence[Built], kernels: Path) -> Iterator[str]:
    """Yield each module that does not compile once for all targets (in full if the errors have no locations), and
    which side of it is broken, if both were compiled. Then yield the modules that do not compile as a whole.
    """
    modules = dict.fromkeys(one.module for one in built if one.error)
    for module in modules:
        failed = {one.target: one.error for one in built if one.module == module and one.error}
        yield from dict.fromkeys(str(error) for error in failed.values() if not error.findings)
        if findings := list(dict.fromkeys(each for error in failed.values() for each in error.findings)):
            where = ", ".join(name for name, error in failed.items() if error.findings)
            count = pluralize(len(findings), "error")
            first = f"{os.path.relpath(findings[0].file)}:{findings[0].line}: {findings[0].advice}"
            yield f"module {module!r} does not compile for {where}: {count}, the first {first}"
    for module in modules:
        broken: dict[str, bool] = {}
        for one in built:
            if one.module == module:
                vendor = target(one.target).vendor
                broken[vendor] = broken.get(vendor, False) or one.error is not None
        if len(broken) == 2:
            yield f"{module}: {_SIDES[broken['amd'], broken['cuda']]}"
    partial: dict[str, dict[str, tuple[Finding, ...]]] = {}
    for one in built:
        if faulty := one.changes.faulty:
            partial.setdefault(one.module, {})[one.target] = faulty
    for module, by_target in partial.items():
        found = [*itertools.chain(*by_target.values())]
        names = first_names(tuple(dict.fromkeys(each.name for each in found)), SHOWN_PIECES)
        where = f"{os.path.relpath(kernels / found[0].file)}:{found[0].line}: {found[0].advice}"
        targets = ", ".join(by_target)
        yield f"module {module!r} compiles for {targets} only without {names}; the first error: {where}"


def _findings(built: Sequence[Built], project: Project) -> Iterator[Line]:
    """Yield the findings that the user must resolve, once for all targets, by file and line.

    Limits: ``SHOWN_ERRORS`` compiler errors for each module, because the rest usually follows from them, and
    ``SHOWN_ALIKE`` similar findings for each file.
    """
    found: dict[tuple[Finding, str], list[str]] = {}
    for one in built:
        amd, changes = target(one.target).vendor == "amd", one.changes
        ported = project.sides.ported if amd and changes.ported else None
        for kind, findings in (
            ("error", one.error.findings[:SHOWN_ERRORS] if one.error else ()),
            ("could not be mapped to HIP", changes.unmapped),
            ("means something different on AMD GPUs", changes.hazards),
            (f"{'your port needs this' if amd else 'this CUDA no longer has it'}, parity supplies it", changes.needs),
            ("known defect of AMD's headers", changes.defects),
        ):
            for finding in findings:
                path = os.path.relpath((ported or project.kernels) / finding.file)
                found.setdefault((replace(finding, file=path), kind), []).append(one.target)
    every = {one.target for one in built}
    # Errors keep the order of the compiler, which starts with missing headers.
    failures = [each for each in found.items() if each[0][1] == "error"]
    others = [each for each in found.items() if each[0][1] != "error"]
    others.sort(key=lambda each: (each[0][0].file, each[0][0].line))
    alike = Counter[tuple[str, str, str]]()
    for (finding, kind), targets in [*others, *failures]:
        same = (finding.file, finding.advice, kind)
        alike[same] += 1
        if kind == "error" or alike[same] <= SHOWN_ALIKE:
            where = "" if set(targets) == every else f": {' '.join(dict.fromkeys(targets))}"
            yield f"{finding} ({kind}{where})", "red" if kind == "error" else "yellow"
    for (file, _, kind), count in alike.items():
        if kind != "error" and count > SHOWN_ALIKE:
            further = pluralize(count - SHOWN_ALIKE, "more place")
            yield f"{file}: {further} like these ({kind}); --json lists them all", "yellow"
    for module in dict.fromkeys(one.module for one in built if one.error):
        more = max(len(one.error.findings) for one in built if one.module == module and one.error) - SHOWN_ERRORS
        if more > 0:
            yield f"{module}: {pluralize(more, 'more error')}; --json lists them all", "red"
