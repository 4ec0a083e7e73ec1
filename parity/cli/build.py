"""Hipify and compile the kernels, and print what the compiler made of each module for each target.

Where nvcc is there, the CUDA side is compiled, too, so that one learns on which side a source is broken.
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
from parity.build.settings import BuildProgress, BuildSettings
from parity.cli.options import add_folders, add_jobs, add_json, add_target
from parity.cli.terminal import building, errors, output, print_json
from parity.compilers.cuda_toolkit import nvcc
from parity.compilers.targets import CUDA_TARGET, DEFAULT_TARGETS, target
from parity.errors import MissingTool, UsageError, nearest
from parity.model.code_object import Kernel, name_of, plain, spelled, unqualified
from parity.model.finding import Finding
from parity.platform import serialization
from parity.platform.files import CUDA_SUFFIXES
from parity.porting.build_files import Switch
from parity.porting.hints import say_so
from parity.porting.kernel_templates import kernels_of
from parity.porting.sources import find_modules
from parity.porting.translation import Translation
from parity.report.tables import coloured
from parity.suite.loading import load_suite
from parity.suite.settings import Project, find_project

__all__ = ["main", "options"]

COLUMNS = ("entries", "vgprs", "sgprs", "lds_bytes", "scratch_bytes", "spills")
TOLD = [
    *("unmapped", "hazards", "left_out", "empty_headers", "brought", "stubs", "around", "made", "needs", "defects"),
    "branches",
]
"""The parts of a translation that are printed as JSON."""
SHOWN_ERRORS, SHOWN_PIECES, SHOWN_ALIKE = 20, 10, 8
BRANCHES = 12
"""Conditions that are explained."""

KINDS = {"global_buffer": "pointer", "": "pointer or 8 bytes"}

HEADS = ("module", "target", "entries", "VGPRs", "SGPRs", "LDS B", "scratch B", "spills", "seconds", "")


def options(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("modules", nargs="*", metavar="MODULE", help="a module, or its file; default: all")
    add_target(
        parser, f"{' '.join(DEFAULT_TARGETS)}; and {CUDA_TARGET} where nvcc is there, as a check of the CUDA side"
    )
    parser.add_argument("--signatures", action="store_true", help="print the kernels and what they take")
    add_jobs(parser)
    add_json(parser)
    add_folders(parser)


def main(arguments: argparse.Namespace) -> int:
    """Build, and print the table; 1 if something does not compile, other than a CUDA side that nobody asked for."""
    project = _project(arguments)
    modules = _modules(project, arguments.modules)
    targets = [target(name).name for name in dict.fromkeys(arguments.target or DEFAULT_TARGETS)]
    cuda = {} if arguments.target else _cuda_sides(modules)
    with building(len(modules) * len(targets) + len(cuda)) as done:
        found = [
            one
            for paths, names in ((modules, targets), (cuda, [CUDA_TARGET]))
            for one in build(
                project.kernels,
                paths,
                names,
                jobs=arguments.jobs,
                settings=BuildSettings(project.sides),
                progress=BuildProgress(done, done.note),
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
    """The project; of files that are named and that it does not have, the kernels are those of their folder."""
    project = find_project(kernels=arguments.kernels_dir, cases=arguments.cases_dir, hip=arguments.hip_dir)
    files = (Path(name) for name in arguments.modules if name.endswith((*CUDA_SUFFIXES, ".hip")))
    folders = [file.resolve().parent for file in files if file.is_file()]
    if arguments.kernels_dir or all(each.is_relative_to(project.kernels.resolve()) for each in folders):
        return project
    return find_project(kernels=Path(os.path.commonpath(folders)), cases=arguments.cases_dir, hip=arguments.hip_dir)


def _cuda_sides(modules: Mapping[str, Path]) -> dict[str, Path]:
    """The modules that have a CUDA source; none where there is no nvcc."""
    try:
        nvcc()
    except MissingTool:
        return {}
    return {name: path for name, path in modules.items() if path.name.endswith(CUDA_SUFFIXES) and path.is_file()}


def _modules(project: Project, wanted: Sequence[str]) -> dict[str, Path]:
    """The files to build, by module: those of the suite, and all others of the folder by their names."""
    found = find_modules(project.kernels, ported=project.sides.ported)
    with suppress(UsageError):  # there are no case files yet, or they are of no use: the sources compile without
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
    return [len(one.entries), *(int(getattr(one, name)) for name in COLUMNS[1:])]


def _as_dict(one: Built) -> dict[str, object]:
    told = serialization.plain(one.translation or Translation())
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
        **{name: told[name] for name in TOLD},
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
    """The kernels and what they take, once for all targets, in the words that an op is declared with.

    They are those of both sides: what the AMD side does not have, because it does not compile, the CUDA side has.
    """
    kernels: dict[tuple[str, str], Kernel] = {}
    for one in sorted(built, key=lambda one: target(one.target).vendor):  # AMD's first, which names all arguments
        for symbol, kernel in one.code_object.kernels.items() if one.code_object else ():
            kernels.setdefault((one.module, plain((spelled(symbol) or (symbol,))[-1])), kernel)
    for kernel in kernels.values():
        symbol = kernel.name
        names = (argument.name.rpartition(".")[0] or argument.name or "?" for argument in kernel.args)
        sizes = (KINDS.get(a.kind, f"{a.size} bytes") for a in kernel.args)
        takes = ", ".join(f"{name}: {size}" for name, size in zip(names, sizes, strict=True))
        output().print(f"{name_of(symbol)}({takes})")


def _every(built: Sequence[Built], part: str) -> list[Any]:
    """That part of the translations of all modules, each of its entries once."""
    return list(dict.fromkeys(each for one in built if one.translation for each in getattr(one.translation, part)))


def _print_branches(built: Sequence[Built], kernels: Path) -> None:
    """Print the conditions on CUDA's macros, with the lines that AMD's compiler leaves out or in; the first of them."""
    branches = _every(built, "branches")
    for branch in branches[:BRANCHES]:
        path = os.path.relpath(kernels / branch.file)
        output().print(f"{path}:{branch.line}: {branch.name}: {branch.advice}", style="dim")
    if len(branches) > BRANCHES:
        output().print(f"and {len(branches) - BRANCHES} more conditions on macros of CUDA's", style="dim")


def _print_left_out(built: Sequence[Built], kernels: Path) -> None:
    """Host code that was in the way, and headers that are not here: once, whatever the targets."""
    console = output()
    for header in _every(built, "empty_headers"):
        console.print(f"header not found, an empty one stands in its place: {header}", style="yellow")
    for line in _every(built, "brought"):
        console.print(f"for what such headers bring (a guess by its name): {line}", style="yellow")
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
        console.print(f"{more} left out, all of them with --json", style="dim")


def _print_stubs(built: Sequence[Built]) -> None:
    """The headers that small ones of parity's own answer, in one line."""
    if headers := _every(built, "stubs"):
        output().print(f"headers in whose place small ones of parity's stand: {' '.join(headers)}", style="dim")


def _print_around(built: Sequence[Built], kernels: Path) -> None:
    """Folders of the project in which headers were found although no setting names these folders, in one line."""
    if folders := _every(built, "around"):
        named = ", ".join(f'"{os.path.relpath(kernels / folder)}"' for folder in folders)
        output().print(f"headers found in folders around; to say so: include = [{named}] in [tool.parity]", style="dim")


def _print_made(built: Sequence[Built], kernels: Path) -> None:
    """Headers that the project's build makes of templates: a line each."""
    for header in _every(built, "made"):
        template = os.path.relpath(kernels / header.file)
        how = f", {header.advice}" if header.advice else ""
        output().print(f"header made of its template {template}{how}: {header.name}", style="dim")


def _print_switches(built: Sequence[Built]) -> None:
    """Print the macros that a module needs to compile and that only build files of the project define, a line each."""
    modules: dict[Switch, list[str]] = {}
    for one in built:
        for switch in one.switches:
            modules.setdefault(switch, []).append(one.module)
    for switch, names_ in modules.items():
        location = f"{os.path.relpath(switch.file)}:{switch.line}"
        others = f" (elsewhere in it {', '.join(switch.others)})" if switch.others else ""
        why = switch.why or f"as {location} has it{others}"
        output().print(
            f"{' '.join(dict.fromkeys(names_))}: built with {switch.flag}, {why}; to say so: {switch.says}",
            style="yellow",
        )


def _print_parts(built: Sequence[Built]) -> None:
    """Print files that do not compile on their own, each with the file that was built in its place: a line for each."""
    for module, whole in dict.fromkeys((one.module, one.part_of) for one in built if one.part_of):
        path = os.path.relpath(whole)
        output().print(f"{module}: a part of {path}, which includes it: that is built in its place", style="yellow")


def _print_guessed(built: Sequence[Built]) -> None:
    """Print the kernel templates whose arguments no source names: a line for each module."""
    for module, symbols in dict.fromkeys((one.module, one.entries) for one in built if one.guessed):
        kernels = " ".join(name_of(symbol) for symbol in symbols)
        output().print(
            f"{module}: nothing that compiles here says for which types its kernel templates are; built for {kernels}",
            style="yellow",
        )


def _print_empty(built: Sequence[Built], modules: Mapping[str, Path]) -> None:
    """Print the modules that have kernel templates, of which no instance was made."""
    empty = {one.module: one.behind for one in built if not one.error and not one.entries}
    for module, behind in empty.items():
        path = modules[module]
        if behind:
            said = f"{module}: no kernel came out of it: its kernels are for builds that define {say_so(behind)}"
            output().print(said, style="yellow")
        elif path.is_file() and "__global__" in path.read_text(encoding="utf-8", errors="replace"):
            output().print(
                f"{module}: no kernel came out of it: nothing that compiles instantiates its kernel templates; a line"
                " like template __global__ void name<float>(float*); in the file does",
                style="yellow",
            )


def _print_without_code(built: Sequence[Built], modules: Mapping[str, Path]) -> None:
    """Print the kernels of files that are not among those that were made of them: a line for each module."""
    lacking: dict[tuple[str, str], list[str]] = {}
    for one in built:
        path = modules[one.module]
        if one.entries and path.suffix in (*CUDA_SUFFIXES, ".hip") and path.is_file():
            named = {unqualified(name_of(symbol)) for symbol in one.entries}
            named |= {piece.function for piece in (one.translation.left_out if one.translation else ())}
            kernels = kernels_of(path.read_text(encoding="utf-8", errors="replace"))
            if lost := " ".join(name for name in kernels if name not in named):
                lacking.setdefault((one.module, lost), []).append(one.target)
    for (module, lost), targets in lacking.items():
        output().print(
            f"{module}: no code of {lost} for {' '.join(targets)}: nothing that compiles instantiates a template, or a"
            " condition leaves it out",
            style="yellow",
        )


def _print_failures(built: Sequence[Built]) -> None:
    """Print modules that do not compile, once for all targets; in full where the compiler's errors have no place."""
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
    """Print on which side a module is broken, where both were compiled."""
    for module in dict.fromkeys(one.module for one in built if one.error):
        broken = {vendor: [] for vendor in ("amd", "cuda")}  # type: dict[str, list[bool]]
        for one in built:
            if one.module == module:
                broken[target(one.target).vendor].append(one.error is not None)
        amd, cuda = broken["amd"], broken["cuda"]
        if amd and cuda:
            said = (
                "broken on the CUDA side, too"
                if any(amd) and any(cuda)
                else "only the AMD side is broken: it compiles for CUDA"
                if any(amd)
                else "only the CUDA side is broken: it compiles for AMD"
            )
            errors().print(f"{module}: {said}", style="red")


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _print_findings(built: Sequence[Built], kernels: Path) -> None:
    """Print the findings that a person has to settle, once for all targets: file by file, line by line.

    Of the errors of a module no more than ``SHOWN_ERRORS`` are there, in the compiler's order: the others follow from
    them as a rule. Of what is alike in a file, ``SHOWN_ALIKE``.
    """
    found: dict[tuple[Finding, str], list[str]] = {}
    for one in built:
        amd = target(one.target).vendor == "amd"
        for kind, findings in (
            ("error", one.error.findings[:SHOWN_ERRORS] if one.error else ()),
            ("could not be mapped to HIP", one.unmapped),
            ("means something different on AMD GPUs", one.hazards),
            (f"{'your port needs this' if amd else 'this CUDA has it no more'}, parity supplies it", one.needs),
            ("known defect of AMD's headers", one.defects),
        ):
            for finding in findings:
                path = os.path.relpath(kernels / finding.file)
                found.setdefault((replace(finding, file=path), kind), []).append(one.target)
    console = output()
    every = {one.target for one in built}
    # Errors stay in the compiler's order, which begins with headers that are not there.
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
            console.print(f"{file}: {further} like these ({kind}), all of them with --json", style="yellow")
    for module in dict.fromkeys(one.module for one in built if one.error):
        more = max(len(one.error.findings) for one in built if one.module == module and one.error) - SHOWN_ERRORS
        if more > 0:
            console.print(f"{module}: {_counted(more, 'more error')}, all of them with --json", style="red")
