"""Compile the kernels, and show registers, memory and porting problems of each module for each target.

CUDA sources are translated with hipify first. If nvcc is available, the CUDA side is compiled as well, to show on which
side a source is broken.
"""

from __future__ import annotations

import argparse
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.text import Text

from parity.build.modules import build
from parity.build.result import Built
from parity.build.settings import BuildCallbacks, BuildSettings
from parity.cli.shared.terminal import build_progress, errors, output, print_json
from parity.compilers.cuda_toolkit import nvcc
from parity.compilers.targets import CUDA_TARGET, DEFAULT_TARGETS, target
from parity.errors import MissingTool, UsageError, nearest
from parity.model.code_object import Kernel, plain, source_name, spelled, unqualified
from parity.model.finding import Finding
from parity.platform import serialization
from parity.platform.files import CUDA_SUFFIXES
from parity.porting import Switch, Translation, find_modules, kernels_of, setting_for, stubbed_libraries
from parity.report.tables import coloured
from parity.suite.loading import load_suite
from parity.suite.settings import Project, find_project

COLUMNS = ("entries", "vgprs", "sgprs", "lds_bytes", "scratch_bytes", "spills")
TRANSLATION_FIELDS = [
    *("unmapped", "hazards", "left_out", "empty_headers", "brought", "stubs", "around", "made", "needs", "defects"),
    *("branches", "libraries", "stubbed"),
]
"""The parts of a translation in the JSON output."""
SHOWN_ERRORS, SHOWN_PIECES, SHOWN_ALIKE, SHOWN_BRANCHES = 20, 10, 8, 12
"""The numbers of compiler errors, omitted pieces of code, similar findings and conditions to print."""

KINDS = {"global_buffer": "pointer", "": "pointer or 8 bytes"}

HEADS = ("module", "target", "entries", "VGPRs", "SGPRs", "LDS B", "scratch B", "spills", "seconds", "")


def main(arguments: argparse.Namespace) -> int:
    """Build and print; return 1 if a module does not compile for a requested or default target."""
    project = _project(arguments)
    modules = _modules(project, arguments.modules)
    targets = [target(name).name for name in dict.fromkeys(arguments.target or DEFAULT_TARGETS)]
    cuda = {} if arguments.target else _cuda_sides(modules)
    with build_progress(len(modules) * len(targets) + len(cuda)) as done:
        found = [
            one
            for paths, names in ((modules, targets), (cuda, [CUDA_TARGET]))
            for one in build(
                project.kernels,
                paths,
                names,
                jobs=arguments.jobs,
                settings=BuildSettings(project.sides),
                progress=BuildCallbacks(done, done.note),
            )
        ]
    order = {module: place for place, module in enumerate(modules)}
    built = sorted(found, key=lambda one: order[one.module])
    if arguments.json:
        print_json([_as_dict(one) for one in built])
    else:
        output().print(_table(built))
        if arguments.signatures:
            _print_kernels(built)
        _print_findings(built, project.kernels)
        _print_branches(built, project.kernels)
        _print_left_out(built, project.kernels)
        _print_stubs(built)
        _print_around(built, project.kernels)
        _print_made(built, project.kernels)
        _print_switches(built)
        _print_parts(built)
        _print_guessed(built)
        _print_empty(built, modules)
        _print_without_code(built, modules)
    _print_failures(built)
    _print_sides(built)
    return 1 if any(one.error for one in built if not (cuda and one.target == CUDA_TARGET)) else 0


def _project(arguments: argparse.Namespace) -> Project:
    """Find the project. If the user names files outside the project, their common folder is the kernel folder."""
    project = find_project(kernels=arguments.kernels_dir, cases=arguments.cases_dir, hip=arguments.hip_dir)
    files = (Path(name) for name in arguments.modules if name.endswith((*CUDA_SUFFIXES, ".hip")))
    folders = [file.resolve().parent for file in files if file.is_file()]
    if arguments.kernels_dir or all(each.is_relative_to(project.kernels.resolve()) for each in folders):
        return project
    return find_project(kernels=Path(os.path.commonpath(folders)), cases=arguments.cases_dir, hip=arguments.hip_dir)


def _cuda_sides(modules: Mapping[str, Path]) -> dict[str, Path]:
    """The modules with a CUDA source; empty without nvcc."""
    try:
        nvcc()
    except MissingTool:
        return {}
    return {name: path for name, path in modules.items() if path.name.endswith(CUDA_SUFFIXES) and path.is_file()}


def _modules(project: Project, wanted: Sequence[str]) -> dict[str, Path]:
    """The files to build, by module: the modules of the suite, and other files of the folder by their names."""
    found = find_modules(project.kernels, ported=project.sides.ported)
    with suppress(UsageError):  # case files are missing or broken: the sources compile without them
        suite = load_suite(project.kernels, project.cases)
        declared = {suite.files[module]: module for module in suite.modules if module not in suite.missing}
        found = {declared.get(path, name): path for name, path in found.items()}
    files = {path.resolve(): name for name, path in found.items()}
    wanted = [files.get(Path(name).resolve(), name) for name in wanted]
    for name in wanted:
        if name not in found:
            raise UsageError(f"no module {name!r} in {project.kernels}; it has {' '.join(found)}{nearest(name, found)}")
    return {name: found[name] for name in wanted or found}


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
        "replaced": dict(one.replaced),
        "errors": [vars(finding) for finding in one.error.findings] if one.error else [],
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
        state = "COMPILE ERROR" if one.error else "cached" if one.cached else "compiled"
        style = "bold red" if one.error else ""
        rows.append([Text(c, style) for c in (one.module, one.target, *numbers, f"{one.seconds:.2f}", state)])
    return coloured(HEADS, rows, right=range(2, len(HEADS) - 1))


def _print_kernels(built: Sequence[Built]) -> None:
    """Print the kernels and their arguments once for all targets, in the words of an op declaration.

    The CUDA side contributes kernels that do not compile for AMD.
    """
    kernels: dict[tuple[str, str], Kernel] = {}
    for one in sorted(built, key=lambda one: target(one.target).vendor):  # AMD first, whose metadata name all arguments
        for symbol, kernel in one.code_object.kernels.items() if one.code_object else ():
            kernels.setdefault((one.module, plain((spelled(symbol) or (symbol,))[-1])), kernel)
    for kernel in kernels.values():
        symbol = kernel.name
        names = (argument.name.rpartition(".")[0] or argument.name or "?" for argument in kernel.args)
        sizes = (KINDS.get(a.kind, f"{a.size} bytes") for a in kernel.args)
        takes = ", ".join(f"{name}: {size}" for name, size in zip(names, sizes, strict=True))
        output().print(f"{source_name(symbol)}({takes})")


def _every(built: Sequence[Built], part: str) -> list[Any]:
    """The distinct entries of one part of all translations."""
    return list(dict.fromkeys(each for one in built if one.translation for each in getattr(one.translation, part)))


def _print_branches(built: Sequence[Built], kernels: Path) -> None:
    """Print the first conditions on CUDA macros, with the lines that AMD's compiler omits or includes."""
    branches = _every(built, "branches")
    for branch in branches[:SHOWN_BRANCHES]:
        path = os.path.relpath(kernels / branch.file)
        output().print(f"{path}:{branch.line}: {branch.name}: {branch.advice}", style="dim")
    if len(branches) > SHOWN_BRANCHES:
        output().print(f"and {len(branches) - SHOWN_BRANCHES} more conditions on CUDA macros", style="dim")


def _print_left_out(built: Sequence[Built], kernels: Path) -> None:
    """Print omitted host code and missing headers once for all targets."""
    console = output()
    for header in _every(built, "empty_headers"):
        console.print(f"header not found, replaced by an empty one: {header}", style="yellow")
    for line in _every(built, "brought"):
        console.print(f"line added for a missing header (guessed from its name): {line}", style="yellow")
    pieces = _every(built, "left_out")
    for piece in (each for each in pieces if each.function):
        path = os.path.relpath(kernels / piece.file)
        what = f"{piece.name} in {piece.function}" if piece.is_call else piece.function
        console.print(f"{path}:{piece.line}: device code left out: {what} ({piece.because})", style="bold yellow")
    pieces = [piece for piece in pieces if not piece.function]
    for piece in pieces[:SHOWN_PIECES]:
        path = os.path.relpath(kernels / piece.file)
        what = f"left out: {piece.name}" if piece.end > piece.start else f"read as: {piece.instead}{piece.name}"
        console.print(f"{path}:{piece.line}: {what} ({piece.because})", style="dim")
    if len(pieces) > SHOWN_PIECES:
        more = _counted(len(pieces) - SHOWN_PIECES, "more piece")
        console.print(f"{more} left out; --json lists them all", style="dim")


def _print_stubs(built: Sequence[Built]) -> None:
    """Print which headers stubs answered, why, and which real libraries were used."""
    if headers := _every(built, "stubs"):
        output().print(f"headers replaced by stubs of parity: {' '.join(headers)}", style="dim")
        for library, used in dict.fromkeys((each.name, each.stub_used) for each in stubbed_libraries(headers)):
            output().print(f"the stub of {library} is used {used}", style="dim")
    if libraries := _every(built, "libraries"):
        output().print(f"real libraries used instead of stubs: {', '.join(libraries)}", style="dim")
    for finding in _every(built, "stubbed"):
        output().print(f"the stub of {finding.name} is used: {finding.advice}", style="dim")


def _print_around(built: Sequence[Built], kernels: Path) -> None:
    """Print project folders that contain needed headers, although no setting names them."""
    if folders := _every(built, "around"):
        named = ", ".join(f'"{os.path.relpath(kernels / folder)}"' for folder in folders)
        output().print(
            f"headers found in other folders; to make this explicit: include = [{named}] in [tool.parity]",
            style="dim",
        )


def _print_made(built: Sequence[Built], kernels: Path) -> None:
    """Print one line for each header that the project's build generates from a template."""
    for header in _every(built, "made"):
        template = os.path.relpath(kernels / header.file)
        how = f", {header.advice}" if header.advice else ""
        output().print(f"header generated from its template {template}{how}: {header.name}", style="dim")


def _print_switches(built: Sequence[Built]) -> None:
    """Print one line for each macro that a module needs and that only build files of the project define."""
    modules: dict[Switch, list[str]] = {}
    for one in built:
        for switch in one.switches:
            modules.setdefault(switch, []).append(one.module)
    for switch, names_ in modules.items():
        location = f"{os.path.relpath(switch.file)}:{switch.line}"
        others = f" (elsewhere in it {', '.join(switch.others)})" if switch.others else ""
        why = switch.why or f"as {location} has it{others}"
        output().print(
            f"{' '.join(dict.fromkeys(names_))}: built with {switch.flag}, {why}; to make this explicit: {switch.says}",
            style="yellow",
        )


def _print_parts(built: Sequence[Built]) -> None:
    """Print one line for each file that compiles only as a part of another file."""
    for module, whole in dict.fromkeys((one.module, one.part_of) for one in built if one.part_of):
        path = os.path.relpath(whole)
        output().print(f"{module}: {path} includes it and was built instead", style="yellow")


def _print_guessed(built: Sequence[Built]) -> None:
    """Print one line for each module whose kernel templates are instantiated nowhere, with the guessed instances."""
    for module, symbols in dict.fromkeys((one.module, one.entries) for one in built if one.guessed):
        kernels = " ".join(source_name(symbol) for symbol in symbols)
        output().print(
            f"{module}: no compiled code shows the template arguments of its kernels; built for {kernels}",
            style="yellow",
        )


def _print_empty(built: Sequence[Built], modules: Mapping[str, Path]) -> None:
    """Print the modules without kernels: templates without an instance, or kernels behind an undefined macro."""
    empty = {one.module: one.behind for one in built if not one.error and not one.entries}
    for module, behind in empty.items():
        path = modules[module]
        if behind:
            said = f"{module}: no kernel was built: its kernels need a build that defines {setting_for(behind)}"
            output().print(said, style="yellow")
        elif path.is_file() and "__global__" in path.read_text(encoding="utf-8", errors="replace"):
            output().print(
                f"{module}: no kernel was built: no compiled code instantiates its kernel templates; add a line"
                " such as template __global__ void name<float>(float*); to the file",
                style="yellow",
            )


def _print_without_code(built: Sequence[Built], modules: Mapping[str, Path]) -> None:
    """Print one line for each module with kernels in its file that are not in the built code."""
    lacking: dict[tuple[str, str], list[str]] = {}
    for one in built:
        path = modules[one.module]
        if one.entries and path.suffix in (*CUDA_SUFFIXES, ".hip") and path.is_file():
            named = {unqualified(source_name(symbol)) for symbol in one.entries}
            named |= {piece.function for piece in (one.translation.left_out if one.translation else ())}
            kernels = kernels_of(path.read_text(encoding="utf-8", errors="replace"))
            if lost := " ".join(name for name in kernels if name not in named):
                lacking.setdefault((one.module, lost), []).append(one.target)
    for (module, lost), targets in lacking.items():
        output().print(
            f"{module}: no code of {lost} for {' '.join(targets)}: a template has no instance, or a condition"
            " excludes the kernel",
            style="yellow",
        )


def _print_failures(built: Sequence[Built]) -> None:
    """Print each module that does not compile once for all targets; in full if the errors have no locations."""
    for module in dict.fromkeys(one.module for one in built if one.error):
        every = [one for one in built if one.module == module]
        failed = [one for one in every if one.error]
        unplaced = [one.error for one in failed if one.error and not one.error.findings]
        for text in dict.fromkeys(map(str, unplaced)):
            errors().print(text, style="red")
        if len(unplaced) < len(failed):
            where = ", ".join(one.target for one in failed if one.error and one.error.findings)
            findings = list(dict.fromkeys(found for one in failed if one.error for found in one.error.findings))
            count = _counted(len(findings), "error")
            first = f"{Path(os.path.relpath(findings[0].file))}:{findings[0].line}: {findings[0].advice}"
            errors().print(f"module {module!r} does not compile for {where}: {count}, the first {first}", style="red")


def _print_sides(built: Sequence[Built]) -> None:
    """Print which side of a module is broken, if both were compiled."""
    for module in dict.fromkeys(one.module for one in built if one.error):
        broken = {vendor: [] for vendor in ("amd", "cuda")}  # type: dict[str, list[bool]]
        for one in built:
            if one.module == module:
                broken[target(one.target).vendor].append(one.error is not None)
        amd, cuda = broken["amd"], broken["cuda"]
        if amd and cuda:
            said = (
                "the CUDA side is broken as well"
                if any(amd) and any(cuda)
                else "only the AMD side is broken: it compiles for CUDA"
                if any(amd)
                else "only the CUDA side is broken: it compiles for AMD"
            )
            errors().print(f"{module}: {said}", style="red")


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _print_findings(built: Sequence[Built], kernels: Path) -> None:
    """Print the findings that the user must resolve, once for all targets, by file and line.

    Limits: ``SHOWN_ERRORS`` compiler errors for each module, because the rest usually follows from them, and
    ``SHOWN_ALIKE`` similar findings for each file.
    """
    found: dict[tuple[Finding, str], list[str]] = {}
    for one in built:
        amd = target(one.target).vendor == "amd"
        for kind, findings in (
            ("error", one.error.findings[:SHOWN_ERRORS] if one.error else ()),
            ("could not be mapped to HIP", one.unmapped),
            ("means something different on AMD GPUs", one.hazards),
            (f"{'your port needs this' if amd else 'this CUDA no longer has it'}, parity supplies it", one.needs),
            ("known defect of AMD's headers", one.defects),
        ):
            for finding in findings:
                path = os.path.relpath(kernels / finding.file)
                found.setdefault((replace(finding, file=path), kind), []).append(one.target)
    console = output()
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
            console.print(f"{finding} ({kind}{where})", style="red" if kind == "error" else "yellow")
    for (file, _, kind), count in alike.items():
        if kind != "error" and count > SHOWN_ALIKE:
            further = _counted(count - SHOWN_ALIKE, "more place")
            console.print(f"{file}: {further} like these ({kind}); --json lists them all", style="yellow")
    for module in dict.fromkeys(one.module for one in built if one.error):
        more = max(len(one.error.findings) for one in built if one.module == module and one.error) - SHOWN_ERRORS
        if more > 0:
            console.print(f"{module}: {_counted(more, 'more error')}; --json lists them all", style="red")
