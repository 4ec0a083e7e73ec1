"""Start a project: a kernel, a case file and the configuration; of kernels that are there, the skeletons of their ops.

They are compiled for one target, and every module gets a case file that declares its kernels with what the compiler
knows of their arguments. An op needs no reference: without one, AMD's results are judged by CUDA's side of the run. In
a project with settings, the case files are written that are not there yet. --ci writes what makes a CI run parity.
"""

from __future__ import annotations

import argparse
import functools
import os
import re
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path, PurePath

from parity.application import Run, Settings, select_columns
from parity.build.modules import build
from parity.build.result import Built
from parity.build.settings import BuildProgress, BuildSettings
from parity.cli.shared.terminal import build_progress, errors, output, run_progress
from parity.compilers.cuda_toolkit import nvcc
from parity.compilers.targets import CUDA_TARGET, DEFAULT_TARGETS
from parity.engine import CaseRecord
from parity.errors import MissingTool, NotAvailable, UsageError, display_path
from parity.inference.facts import InferredSpec, LaunchArguments
from parity.inference.host_launches import HostLaunch, HostTexts
from parity.inference.probing import Prober
from parity.inference.ptx_dataflow import Flow, flows
from parity.inference.signature import Probe
from parity.inference.skeleton import Skeleton, case_file, skeletons
from parity.inference.structures import Structures
from parity.model.code_object import CodeObject, source_name, spelled, unqualified
from parity.platform.files import CUDA_SUFFIXES, find_below, read_text
from parity.porting import find_modules
from parity.suite.loading import load_suite
from parity.suite.options import CUDA_SIDE
from parity.suite.selection import Selection
from parity.suite.settings import Project, find_project, read_settings

__all__ = ["main", "options"]

TEMPLATE = Path(__file__).parents[1] / "template"
CONFIG = "pyproject.toml"
CI = {"github": ".github/workflows/parity.yml", "gitlab": ".gitlab-ci.yml"}
"""The file of a CI, by the name of its template."""
IGNORED = ("parity-out/", "__pycache__/")
"""Names that git is to ignore in a project."""
_SOON = 30
"""Seconds after which the guesses that there are are tried."""
NEXT = (
    "next: {do} {cases}, then {there}parity run, which executes CUDA's side on the CPU where there is nvcc "
    "(python -m pip install 'parity-harness[nvcc]'); with a reference no CUDA is needed"
)


def options(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("folder", nargs="?", type=Path, default=Path(), metavar="DIR", help="default: this folder")
    parser.add_argument(
        "--kernels", default="kernels", metavar="DIR", help="folder of the .cu files (default: kernels)"
    )
    parser.add_argument("--cases", default="cases", metavar="DIR", help="folder of the case files (default: cases)")
    parser.add_argument("--ci", choices=CI, help="write a workflow of this CI as well, which needs no GPU")


def main(arguments: argparse.Namespace) -> int:
    """Write what is not there yet; nothing is overwritten."""
    folder, config = arguments.folder, arguments.folder / CONFIG
    if read_settings(config) is not None:
        return _complete(folder, config, arguments.ci)
    written, declared = list[Path](), 0
    kernels, cases = folder / arguments.kernels, folder / arguments.cases
    has_own = kernels.is_dir() and any(find_below(kernels, *CUDA_SUFFIXES, ".hip"))
    if not has_own:
        written = [_copy("kernels/leaky_relu.cu", kernels), _copy("cases/leaky_relu.py", cases)]
    table = f'[tool.parity]\nkernels = "{arguments.kernels}"\ncases = "{arguments.cases}"\n'
    try:
        before = read_text(config) if config.exists() else ""
        config.write_text(before + "\n" * bool(before) + table)
    except OSError as error:
        raise UsageError(f"cannot write {config}: {error.strerror}; choose another folder") from error
    if has_own:  # behind the settings: with them, parity init goes on with what an interrupted one left
        written, declared = _skeletons(Project(kernels, cases))
    console = output()
    for path in (*written, config, *_ci(folder, arguments.ci), *_ignore(folder)):
        console.print(f"wrote {path}")
    there = "" if folder.resolve() == Path.cwd() else f"cd {folder} && "
    steps = "run" if not has_own else "build"
    if has_own and written:
        console.print(_next(cases, declared, there))
    else:
        console.print(f"next: {there}parity {steps}")
    return 0


def _ci(folder: Path, name: str | None) -> list[Path]:
    """Write the workflow of a CI, if one is wanted that is not there."""
    if name is None:
        return []
    path = folder / CI[name]
    if path.exists():
        errors().print(f"parity: {path} exists already and stays as it is", style="yellow")
        return []
    return [_write(path, (TEMPLATE / "ci" / f"{name}.yml").read_text())]


def _ignore(folder: Path) -> list[Path]:
    """Add what is missing in .gitignore."""
    path = folder / ".gitignore"
    before = read_text(path) if path.exists() else ""
    if not (missing := [line for line in IGNORED if line not in before.splitlines()]):
        return []
    end = "\n" if before and not before.endswith("\n") else ""
    return [_write(path, before + end + "".join(f"{line}\n" for line in missing))]


def _complete(folder: Path, config: Path, ci: str | None) -> int:
    """Write the case files and the workflow that a project lacks; its settings stay as they are.

    Raises:
        UsageError: it lacks none.
    """
    project = find_project(folder)
    files, declared = _skeletons(project, quiet=True) if project.kernels.is_dir() else ([], 0)
    written = [*files, *_ci(folder, ci)]
    if not written:
        raise UsageError(f"{config} has a [tool.parity] already: this is a project; see it with parity list")
    for path in (*written, *_ignore(folder)):
        output().print(f"wrote {path}")
    if files:
        output().print(_next(project.cases, declared))
    return 0


def _next(cases: Path, declared: int, there: str = "") -> str:
    return NEXT.format(do="look through" if declared else "complete an op in", cases=display_path(cases), there=there)


def _skeletons(project: Project, *, quiet: bool = False) -> tuple[list[Path], int]:
    """Write a case file for every module that compiles and has none yet; these, and how many ops they declare."""
    kernels, cases = project.kernels, project.cases
    modules = find_modules(kernels, ported=project.sides.ported)
    try:
        with build_progress(len(modules)) as done:
            built = build(
                kernels,
                modules,
                [DEFAULT_TARGETS[0]],
                settings=BuildSettings(project.sides),
                progress=BuildProgress(done),
            )
    except MissingTool as error:
        errors().print(f"parity: no case files are written, because nothing can be compiled: {error}", style="yellow")
        return [], 0
    cuda, texts = _cuda(project, modules), HostTexts(kernels)
    written, guessed = list[Path](), dict[Path, tuple[PurePath, list[Skeleton]]]()
    asked, untried, since = dict[str, str](), list[Path](), time.monotonic()
    for one in _guessing(built, written):
        path = cases / (re.sub(r"\W+", "_", one.module) + ".py")
        if one.error or not one.code_object:
            errors().print(
                f"parity: {one.module} does not compile, so it has no case file; see parity build", style="yellow"
            )
        elif path.exists() and quiet:
            continue
        elif path.exists():
            errors().print(f"parity: {path} exists already and stays as it is", style="yellow")
        elif one.code_object.kernels:
            source = modules[one.module].relative_to(kernels)
            structures = Structures(texts.whole(modules[one.module]))
            launches = texts.launches(modules[one.module])
            if cuda is None:
                ops = skeletons(
                    source, one.module, one.code_object.kernels.values(), structures=structures, launches=launches
                )
            else:
                ops = _skeletons_of(source, one.code_object, cuda.get(one.module), launches, structures)
            guessed[path] = source, ops
            written.append(_write(path, case_file(source, ops, {})))
            untried += [path] * (cuda is not None)
            if time.monotonic() - since > _SOON:  # so that an interruption leaves little that was not tried
                asked |= _settled(project, guessed, untried, shown=False)
                untried, since = [], time.monotonic()
        elif "__global__" in texts.whole(modules[one.module]):
            errors().print(
                f"parity: {one.module} has no kernel as it is compiled here; see parity build", style="yellow"
            )
    asked |= _settled(project, guessed, untried)
    ops = [each for _, several in guessed.values() for each in several if each.name]
    left = [each.name for each in ops if each.question or each.name in asked]
    if left:
        told = f"{len(ops) - len(left)} of {len(ops)} ops are declared"
        errors().print(
            f"parity: {told}; the others are comments that say what is to be completed: {', '.join(left)}",
            style="yellow",
        )
    return written, len(ops) - len(left)


def _guessing(built: Sequence[Built], written: Collection[Path]) -> Iterator[Built]:
    """The modules, with a display of which one it is; an interruption says what becomes of what is ``written``."""
    i = 0
    try:
        with run_progress() as (report, note):
            for i, one in enumerate(built):
                report("guessing", i, len(built))
                note(one.module)
                yield one
            i = len(built)
    finally:
        if i < len(built):
            errors().print(
                f"parity: {len(written)} case files are written; the same command goes on with the other modules"
            )


def _settled(
    project: Project,
    guessed: Mapping[Path, tuple[PurePath, list[Skeleton]]],
    untried: Sequence[Path],
    shown: bool = True,
) -> dict[str, str]:
    """Make comments of the guesses that CUDA's side fails with; these, with the reason."""
    asked = _tried(project, untried, shown) if untried else {}
    for path in untried:
        _write(path, case_file(*guessed[path], asked))
    return asked


def _tried(project: Project, written: Sequence[Path], shown: bool) -> dict[str, str]:
    """The ops whose guess CUDA's side fails with, each with the reason: the cases of a usual run are executed."""
    try:
        suite = load_suite(project.kernels, project.cases, sides=project.sides)
        chosen = select_columns([CUDA_SIDE], [CUDA_TARGET])
    except (UsageError, NotAvailable):  # no op in these files, or nothing that executes CUDA's side
        return {}
    mine = {path.resolve() for path in written}
    ops = {name for name, path in suite.case_files.items() if path in mine}
    entries = tuple(entry for entry in suite.entries if entry.op.name in ops)
    settings = Settings()
    run = Run(replace(suite, known=None), Selection(entries), chosen, settings)
    with run_progress(shown) as (report, _):
        records = run.build().execute(report).records
    return {record.op: _reason(record) for record in records if record.verdict.failed}


def _reason(record: CaseRecord) -> str:
    told = record.verdict.detail.strip().splitlines()
    said = told[0] if told else record.verdict.kind
    return f"with what was guessed, CUDA's side fails in {record.case}: {said}"


def _cuda(project: Project, modules: Mapping[str, Path]) -> dict[str, Built] | None:
    """The CUDA side of each module; None where there is no nvcc."""
    try:
        nvcc()
    except MissingTool:
        return None
    sources = {name: path for name, path in modules.items() if path.name.endswith(CUDA_SUFFIXES) and path.is_file()}
    with build_progress(len(sources)) as done:
        built = build(
            project.kernels, sources, [CUDA_TARGET], settings=BuildSettings(project.sides), progress=BuildProgress(done)
        )
    return {one.module: one for one in built}


def _skeletons_of(
    source: PurePath,
    code: CodeObject,
    built: Built | None,
    launches: Mapping[str, Sequence[HostLaunch]],
    structures: Structures,
) -> list[Skeleton]:
    """The ops of a module: its kernels with what the PTX of the CUDA side and launches of it show, if it compiles."""
    cuda = built.code_object if built else None
    seen = flows(cuda.listing) if cuda else {}
    found, probes = {}, dict[str, Probe]()
    for symbol in code.kernels:
        probes[symbol] = partial(_unprobed, built)
        other = cuda.symbol((spelled(symbol) or (symbol,))[-1]) if cuda else symbol
        if cuda and other in seen:
            found[symbol] = seen[other]
            probes[symbol] = partial(_probe, cuda, other, launches)
    return skeletons(source, code.module, code.kernels.values(), found, probes, structures, launches)


def _unprobed(built: Built | None, args: Sequence[LaunchArguments], flow: Flow | None) -> str:
    """Why a kernel was not executed."""
    if built is None or built.error is None:
        return "CUDA's side has no kernel of this name, so nothing was executed"
    first = next((f": {os.path.relpath(each.file)}:{each.line}: {each.advice}" for each in built.error.findings), "")
    return f"CUDA's side does not compile here, so nothing was executed{first}"


def _probe(
    cuda: CodeObject,
    symbol: str,
    launches: Mapping[str, Sequence[HostLaunch]],
    args: Sequence[LaunchArguments],
    flow: Flow | None,
) -> InferredSpec | str:
    assert flow
    name = unqualified(source_name(symbol))
    return _prober().probe(cuda, symbol, args, flow, launches.get(name, ()))


@functools.cache
def _prober() -> Prober:
    return Prober()


def _copy(name: str, folder: Path) -> Path:
    path = folder / Path(name).name
    if path.exists():
        raise UsageError(f"{path} exists already; move it away, or choose another folder")
    return _write(path, (TEMPLATE / name).read_text())


def _write(path: Path, text: str) -> Path:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {os.strerror(error.errno or 0)}; choose another folder") from error
    return path
