"""Start a project: write a kernel, a case file and the configuration, or declare the kernels of an existing folder.

Existing kernels are compiled for one target. Each module gets a case file that declares its kernels with what the
compiler and launches show of their arguments. References are optional: without one, CUDA's side of the run judges
AMD's results. In a project with settings, only missing case files are written. --ci adds a workflow that runs parity.
"""

from __future__ import annotations

import argparse
import functools
import os
import re
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path, PurePath

from parity.application.columns import select_columns
from parity.application.run import Run, Settings
from parity.build.modules import build
from parity.build.result import Built
from parity.build.settings import BuildCallbacks, BuildSettings
from parity.cli.shared.terminal import build_progress, errors, output, run_progress
from parity.compilers.cuda_toolkit import nvcc
from parity.compilers.targets import CUDA_TARGET, DEFAULT_TARGETS
from parity.engine.case_records import CaseRecord
from parity.errors import MissingTool, NotAvailable, UsageError, display_path
from parity.inference.case_file import case_file
from parity.inference.host_launches import HostLaunch, HostTexts
from parity.inference.prober import ProbedKernel, Prober
from parity.inference.ptx_dataflow import Flow, flows
from parity.inference.signature import Probe
from parity.inference.skeleton import Skeleton, skeletons
from parity.inference.spec import InferredSpec, KernelArgument
from parity.inference.structures import Structures
from parity.model.code_object import CodeObject, source_name, spelled, unqualified
from parity.platform.files import CUDA_SUFFIXES, find_below, read_text
from parity.platform.installation import NAME, install_command, origin
from parity.porting import find_modules
from parity.suite.loading import load_suite
from parity.suite.options import CUDA_SIDE
from parity.suite.selection import Selection
from parity.suite.settings import Project, find_project, read_settings

TEMPLATE = Path(__file__).parents[1] / "template"
CONFIG = "pyproject.toml"
CI = {"github": ".github/workflows/parity.yml", "gitlab": ".gitlab-ci.yml"}
"""The workflow file of each CI, by the name of its template."""
CI_EXTRAS = "emulated,nvcc"
"""What a workflow installs with parity."""
IGNORED = ("parity-out/", "__pycache__/")
"""Names that git ignores in a project."""
_TRY_AFTER = 30
"""Seconds after which new declarations are tried."""
NEXT = (
    "next: {do} {cases}, then {there}parity run, which executes CUDA's side on the CPU where there is nvcc "
    "({install}); with a reference no CUDA is needed"
)


def main(arguments: argparse.Namespace) -> int:
    """Write missing files. Existing files are never overwritten."""
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
    if has_own:  # after the settings, so that a repeated parity init continues after an interruption
        written, declared = _write_cases(Project(kernels, cases))
    console = output()
    for path in (*written, config, *_ci(folder, arguments.ci), *_ignore(folder)):
        console.print(f"wrote {path}")
    there = "" if folder.resolve() == Path.cwd() else f"cd {folder} && "
    steps = f"next: {there}parity {'build' if has_own else 'run'}"
    console.print(_next(cases, declared, there) if has_own and written else steps)
    return 0


def _ci(folder: Path, name: str | None) -> list[Path]:
    """Write the workflow of a CI unless it exists."""
    if name is None:
        return []
    path = folder / CI[name]
    if path.exists():
        _warn(f"{path} exists already and is not changed")
        return []
    text = (TEMPLATE / "ci" / f"{name}.yml").read_text()
    if origin().is_local:
        _warn(f"replace {NAME} in {path} by a Git URL or wheel of parity that the CI can install")
    else:
        text = text.replace(f"{NAME}[{CI_EXTRAS}]", origin().requirement(CI_EXTRAS))
    return [_write(path, text)]


def _ignore(folder: Path) -> list[Path]:
    """Add the missing entries to .gitignore."""
    path = folder / ".gitignore"
    before = read_text(path) if path.exists() else ""
    if not (missing := [line for line in IGNORED if line not in before.splitlines()]):
        return []
    end = "\n" if before and not before.endswith("\n") else ""
    return [_write(path, before + end + "".join(f"{line}\n" for line in missing))]


def _complete(folder: Path, config: Path, ci: str | None) -> int:
    """Write the case files and the workflow that a project lacks. Its settings remain unchanged.

    Raises:
        UsageError: the project lacks nothing.
    """
    project = find_project(folder)
    files, declared = _write_cases(project, quiet=True) if project.kernels.is_dir() else ([], 0)
    written = [*files, *_ci(folder, ci)]
    if not written:
        raise UsageError(f"{config} has a [tool.parity] already: this is a project; see it with parity list")
    for path in (*written, *_ignore(folder)):
        output().print(f"wrote {path}")
    if files:
        output().print(_next(project.cases, declared))
    return 0


def _next(cases: Path, declared: int, there: str = "") -> str:
    return NEXT.format(
        install=install_command("nvcc"),
        do="look through" if declared else "complete an op in",
        cases=display_path(cases),
        there=there,
    )


@dataclass
class _CaseFiles:
    """The case files that a command writes.

    ``ops`` are the skeletons in each file, ``written`` the files in order. ``untried`` files have not been executed
    yet. ``asked`` says why an op cannot be declared yet, by name.
    """

    project: Project
    ops: dict[Path, tuple[PurePath, list[Skeleton]]] = field(default_factory=dict)
    written: list[Path] = field(default_factory=list)
    untried: list[Path] = field(default_factory=list)
    asked: dict[str, str] = field(default_factory=dict)
    tried_at: float = field(default_factory=time.monotonic)

    def add(self, path: Path, source: PurePath, ops: list[Skeleton], *, try_them: bool) -> None:
        """Write a case file. Try the declarations after a while, so that an interruption leaves few untried."""
        self.ops[path] = source, ops
        self.written.append(_write(path, case_file(source, ops, {})))
        self.untried += [path] * try_them
        if time.monotonic() - self.tried_at > _TRY_AFTER:
            self.settle(shown=False)

    def settle(self, *, shown: bool = True) -> None:
        """Turn declarations that fail on CUDA's side into comments."""
        self.asked |= _failures(self.project, self.untried, shown) if self.untried else {}
        for path in self.untried:
            _write(path, case_file(*self.ops[path], self.asked))
        self.untried, self.tried_at = [], time.monotonic()

    def summary(self) -> int:
        """Report the ops that are comments. Return the number of declared ops."""
        ops = [each for _, several in self.ops.values() for each in several if each.name]
        left = [each.name for each in ops if each.question or each.name in self.asked]
        if left:
            told = f"{len(ops) - len(left)} of {len(ops)} ops are declared"
            _warn(f"{told}; the others are comments that say what is to be completed: {', '.join(left)}")
        return len(ops) - len(left)


def _write_cases(project: Project, *, quiet: bool = False) -> tuple[list[Path], int]:
    """Write a case file for every module that compiles and does not have one.

    Returns the files and the number of ops that they declare.
    """
    modules = find_modules(project.kernels, ported=project.sides.ported)
    try:
        with build_progress(len(modules)) as done:
            built = build(
                project.kernels, modules, [DEFAULT_TARGETS[0]],
                settings=BuildSettings(project.sides), progress=BuildCallbacks(done),
            )  # fmt: skip
    except MissingTool as error:
        _warn(f"no case files are written, because nothing can be compiled: {error}")
        return [], 0
    cuda, texts, files = _build_cuda(project, modules), HostTexts(project.kernels), _CaseFiles(project)
    for one in _reported(built, files.written):
        path = project.cases / (re.sub(r"\W+", "_", one.module) + ".py")
        text = texts.whole(modules[one.module])
        if one.error or not one.code_object:
            _warn(f"{one.module} does not compile, so it has no case file; see parity build")
        elif path.exists():
            if not quiet:
                _warn(f"{path} exists already and is not changed")
        elif one.code_object.kernels:
            source = modules[one.module].relative_to(project.kernels)
            host = _HostCode(texts.launches(modules[one.module]), Structures(text))
            files.add(path, source, _skeletons(source, one.code_object, cuda, host), try_them=cuda is not None)
        elif "__global__" in text:
            _warn(f"{one.module} does not contain a kernel when it is compiled here; see parity build")
    files.settle()
    return files.written, files.summary()


def _reported(built: Sequence[Built], written: Collection[Path]) -> Iterator[Built]:
    """Yield the modules and display the progress. After an interruption, say how to continue."""
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
            done = f"{len(written)} case files are written"
            errors().print(f"parity: {done}; the same command continues with the remaining modules")


def _failures(project: Project, written: Sequence[Path], shown: bool) -> dict[str, str]:
    """Execute the cases of a usual run on CUDA's side. Return why ops fail, by name."""
    try:
        suite = load_suite(project.kernels, project.cases, sides=project.sides)
        chosen = select_columns([CUDA_SIDE], [CUDA_TARGET])
    except (UsageError, NotAvailable):  # the files declare no op, or nothing can execute CUDA's side
        return {}
    mine = {path.resolve() for path in written}
    ops = {name for name, path in suite.case_files.items() if path in mine}
    entries = tuple(entry for entry in suite.entries if entry.op.name in ops)
    run = Run(replace(suite, known=None), Selection(entries), chosen, Settings())
    with run_progress(shown) as (report, _):
        records = run.build().execute(report).records
    return {record.op: _reason(record) for record in records if record.verdict.failed}


def _reason(record: CaseRecord) -> str:
    detail = record.verdict.detail.strip().splitlines()
    return f"with what was guessed, CUDA's side fails in {record.case}: {detail[0] if detail else record.verdict.kind}"


def _build_cuda(project: Project, modules: Mapping[str, Path]) -> dict[str, Built] | None:
    """Build the CUDA side of each module. Return None without nvcc."""
    try:
        nvcc()
    except MissingTool:
        return None
    sources = {name: path for name, path in modules.items() if path.name.endswith(CUDA_SUFFIXES) and path.is_file()}
    settings = BuildSettings(project.sides)
    with build_progress(len(sources)) as done:
        built = build(project.kernels, sources, [CUDA_TARGET], settings=settings, progress=BuildCallbacks(done))
    return {one.module: one for one in built}


@dataclass(frozen=True)
class _HostCode:
    """The launches of a module's kernels, by name without namespaces, and the structures of its sources."""

    launches: Mapping[str, Sequence[HostLaunch]]
    structures: Structures


def _skeletons(
    source: PurePath, code: CodeObject, built: Mapping[str, Built] | None, host: _HostCode
) -> list[Skeleton]:
    """Return the ops of a module, from PTX and launches of CUDA's side if it compiles."""
    kernels = code.kernels.values()
    if built is None:
        return skeletons(source, code.module, kernels, structures=host.structures, launches=host.launches)
    side = built.get(code.module)
    cuda = side.code_object if side else None
    seen = flows(cuda.listing) if cuda else {}
    found, probes = {}, dict[str, Probe]()
    for symbol in code.kernels:
        probes[symbol] = partial(_not_probed, side)
        other = cuda.symbol((spelled(symbol) or (symbol,))[-1]) if cuda else symbol
        if cuda and other in seen:
            found[symbol] = seen[other]
            probes[symbol] = partial(_probe, cuda, other, host.launches)
    return skeletons(source, code.module, kernels, found, probes, host.structures, host.launches)


def _not_probed(built: Built | None, args: Sequence[KernelArgument], flow: Flow | None) -> str:
    """Return why a kernel was not executed."""
    if built is None or built.error is None:
        return "CUDA's side has no kernel of this name, so nothing was executed"
    first = next((f": {os.path.relpath(each.file)}:{each.line}: {each.advice}" for each in built.findings), "")
    return f"CUDA's side does not compile here, so nothing was executed{first}"


def _probe(
    cuda: CodeObject,
    symbol: str,
    launches: Mapping[str, Sequence[HostLaunch]],
    args: Sequence[KernelArgument],
    flow: Flow | None,
) -> InferredSpec | str:
    assert flow
    host = launches.get(unqualified(source_name(symbol)), ())
    return _prober().probe(ProbedKernel(cuda, symbol, args, flow, host))


_prober = functools.cache(Prober)


def _copy(name: str, folder: Path) -> Path:
    path = folder / Path(name).name
    if path.exists():
        raise UsageError(f"{path} exists already; move it away, or choose another folder")
    return _write(path, (TEMPLATE / name).read_text())


def _warn(message: str) -> None:
    errors().print(f"parity: {message}", style="yellow")


def _write(path: Path, text: str) -> Path:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {os.strerror(error.errno or 0)}; choose another folder") from error
    return path
