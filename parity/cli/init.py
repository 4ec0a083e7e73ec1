"""Start a project: write a kernel, a case file and the configuration, or declare the kernels of an existing folder.

Existing kernels are compiled for one target. Each module gets a case file that declares its kernels with what the
compiler and launches show of their arguments. References are optional: without one, CUDA's side of the run judges
AMD's results. In a project with settings, only missing case files are written. --ci adds a workflow that runs parity.
"""

from __future__ import annotations

import argparse
import math
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path, PurePath

from parity.application.columns import select_columns
from parity.application.run import Run, Settings
from parity.build.modules import build
from parity.build.result import Built
from parity.build.settings import BuildCallbacks, BuildSettings
from parity.captures.observations import CapturedKernels
from parity.cli.shared.chosen_kernels import ChosenKernels, chosen_kernels, plain_name
from parity.cli.shared.terminal import build_progress, errors, output, run_progress
from parity.compilers.cuda_toolkit import nvcc
from parity.compilers.targets import CUDA_TARGET, DEFAULT_TARGETS, TRITON_TARGETS
from parity.engine.case_records import CaseRecord
from parity.engine.sensitivity import NEITHER_SIDE
from parity.errors import MissingTool, NotAvailable, UsageError, display_path
from parity.inference.case_file import case_file, is_inferred
from parity.inference.host_launches import HostLaunch, HostTexts
from parity.inference.prober import ALWAYS_FAULTS, ProbedKernel, Prober
from parity.inference.ptx_dataflow import Flow, flows
from parity.inference.signature import Probe
from parity.inference.skeleton import Skeleton, skeletons
from parity.inference.spec import InferredSpec, KernelArgument
from parity.inference.structures import Structures
from parity.inference.triton_inference import triton_skeletons
from parity.inference.triton_source import triton_kernels
from parity.model.code_object import CodeObject, Kernel, source_name, spelled, unqualified
from parity.platform.files import CUDA_SUFFIXES, find_below, read_text
from parity.platform.installation import NAME, install_command, origin
from parity.porting import find_modules
from parity.suite.loading import load_suite
from parity.suite.options import CUDA_SIDE, DEFAULT_RUNNER
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
_TOP = (".git", "pyproject.toml", "setup.py", "setup.cfg")
"""Names in the folder of a whole project. Its host code may launch the kernels of any package in it."""
NOTHING_DECLARED = 3
"""The exit code if there are sources and no kernel is declared."""
_TRY_AFTER = 30
"""Seconds after which new declarations are tried."""


def main(arguments: argparse.Namespace) -> int:
    """Write missing files. Existing files are never overwritten."""
    folder, config = arguments.folder, arguments.folder / CONFIG
    if arguments.triton:
        return _declare_triton(folder, config, arguments)
    chosen = chosen_kernels(arguments.only, arguments.captured)
    if read_settings(config) is not None:
        return _complete(folder, config, chosen, arguments)
    for parent in folder.resolve().parents:
        if read_settings(parent / CONFIG) is not None:
            _warn(
                f"{parent} is a parity project already. This writes another project inside it; to declare more kernels "
                f"of that project, remove {display_path(config)} and run: parity init {parent}"
            )
            break
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
        written, declared = _write_cases(Project(kernels, cases), chosen, arguments.limit)
    console = output()
    for path in (*written, config, *_ci(folder, arguments.ci), *_ignore(folder)):
        console.print(f"wrote {path}")
    there = "" if folder.resolve() == Path.cwd() else f"cd {folder} && "
    steps = f"next: {there}parity {'build' if has_own else 'run'}"
    console.print(_next(cases, declared, there) if has_own and written else steps)
    return 0 if declared or not has_own else NOTHING_DECLARED


def _declare_triton(folder: Path, config: Path, arguments: argparse.Namespace) -> int:
    """Write the settings and case files of a project whose kernels are Triton functions.

    Raises:
        UsageError: the path has no Triton functions.
        MissingTool: Triton is not installed.
    """
    path = arguments.triton.resolve()
    if not path.exists():
        raise UsageError(f"{arguments.triton} does not exist")
    root = path.parent if path.is_file() else path
    while (root / "__init__.py").is_file():
        root = root.parent
    top = next((each for each in (root, *root.parents) if any((each / name).exists() for name in _TOP)), root)
    hosts = [each for each in find_below(top, ".py") if not each.is_relative_to(folder.resolve() / arguments.cases)]
    files = [path] if path.is_file() else [each for each in hosts if each.is_relative_to(path)]
    chosen = chosen_kernels(arguments.only, None)
    kernels = [each for each in triton_kernels(files, hosts) if chosen.has_kernel(each.path.stem, each.name)]
    if not kernels:
        raise UsageError(f"{arguments.triton} has no kernel below @triton.jit")
    written = []
    if read_settings(config) is None:
        before = read_text(config) if config.exists() else ""
        place = os.path.relpath(root, folder.resolve())
        table = f'[tool.parity]\nkernels = "{place}"\ncases = "{arguments.cases}"\n'
        written.append(_write(config, before + "\n" * bool(before) + table))
    project, roots = find_project(folder), [top, *(top / name for name in ("src", "python"))]
    cases, prober = _CaseFiles(project, arguments.limit, TRITON_TARGETS[0], TRITON_TARGETS[1]), Prober(arguments.limit)
    for file in dict.fromkeys(each.path for each in kernels):
        own = [each for each in kernels if each.path == file]
        source = file.relative_to(project.kernels.resolve())
        module = plain_name(source.with_suffix("").as_posix())
        target = project.cases / f"{module}.py"
        if target.exists():
            _warn(f"{target} exists already and is not changed")
            continue
        with run_progress() as (report, note):
            report("guessing", 0, len(own))
            for i, (kernel, op) in enumerate(
                triton_skeletons(project.kernels.resolve(), roots, module, own, prober), 1
            ):
                cases.add(target, source, op, try_it=True)
                report("guessing", i, len(own))
                note(f"{module} {kernel.name}")
    cases.try_declarations()
    declared = cases.summary()
    for each in (*written, *cases.files, *_ignore(folder)):
        output().print(f"wrote {each}")
    output().print(_next(project.cases, declared))
    return 0 if declared else NOTHING_DECLARED


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


def _complete(folder: Path, config: Path, chosen: ChosenKernels, arguments: argparse.Namespace) -> int:
    """Write the case files and the workflow that a project lacks. Its settings remain unchanged.

    Raises:
        UsageError: the project lacks nothing.
    """
    project = find_project(folder)
    has_kernels = project.kernels.is_dir()
    files, declared = _write_cases(project, chosen, arguments.limit, quiet=True) if has_kernels else ([], 0)
    written = [*files, *_ci(folder, arguments.ci)]
    if not written:
        raise UsageError(f"{config} has a [tool.parity] already: this is a project; see it with parity list")
    for path in (*written, *_ignore(folder)):
        output().print(f"wrote {path}")
    if files:
        output().print(_next(project.cases, declared))
    return 0 if declared or not files else NOTHING_DECLARED


def _next(cases: Path, declared: int, there: str = "") -> str:
    do = "look through" if declared else "complete an op in"
    return f"next: {do} {display_path(cases)}, then {there}parity run{_without_nvcc()}"


def _without_nvcc() -> str:
    try:
        nvcc()
    except MissingTool:
        return f"; CUDA's side, which judges ops without a reference, needs nvcc: {install_command('nvcc')}"
    return ""


@dataclass
class _CaseFile:
    """The ops to write to a file after the text ``before``."""

    source: PurePath
    before: str = ""
    ops: list[Skeleton] = field(default_factory=list)


class _OutOfTime(KeyboardInterrupt):
    """The time to try declarations is over. Ends a run as an interruption does."""


@dataclass
class _CaseFiles:
    """The case files that a command writes.

    ``limit`` is the time to try each op, in seconds. ``cuda`` and ``other`` are the targets to try ops on. ``files``
    are the files in order. ``untried`` ops have not been executed yet. ``asked`` says why an op cannot be declared yet,
    by name.
    """

    project: Project
    limit: float
    cuda: str = CUDA_TARGET
    other: str = DEFAULT_TARGETS[0]
    files: dict[Path, _CaseFile] = field(default_factory=dict)
    untried: dict[str, tuple[_CaseFile, Skeleton]] = field(default_factory=dict)
    asked: dict[str, str] = field(default_factory=dict)
    tried_at: float = field(default_factory=time.monotonic)

    def add(self, path: Path, source: PurePath, op: Skeleton, *, try_it: bool) -> None:
        """Add an op. Try the declarations after a while, so that an interruption leaves few untried."""
        if path not in self.files:
            self.files[path] = _CaseFile(source, read_text(path) if path.exists() else "")
        self.files[path].ops.append(op)
        if op.name and not op.question and try_it:
            self.untried[op.name] = self.files[path], op
        if time.monotonic() - self.tried_at > _TRY_AFTER:
            self.try_declarations(shown=False)

    def try_declarations(self, *, shown: bool = True) -> None:
        """Write the files. Declare ops that fail on CUDA's side more carefully, or turn them into comments."""
        self.write()
        untried, self.tried_at = self.untried, time.monotonic()
        while untried:
            failed, again = self._failed(untried, shown), dict[str, tuple[_CaseFile, Skeleton]]()
            for name, reason in failed.items():
                file, op = untried[name]
                if (better := op.again(reason)) is None:
                    self.asked[name] = reason
                else:
                    file.ops[file.ops.index(op)] = better
                    again[name] = file, better
            untried = again
            self.write()
        self.untried, self.tried_at = {}, time.monotonic()

    def write(self) -> None:
        """Write all files."""
        for path, file in self.files.items():
            _write(path, case_file(file.source, file.ops, self.asked, file.before))

    def _failed(self, untried: Mapping[str, tuple[_CaseFile, Skeleton]], shown: bool) -> dict[str, str]:
        """Execute the cases of a usual run. Return why ops fail on CUDA's side, or do not write anything, by name.

        Ops whose cases are not finished within the time limit count as declared.
        """
        project = self.project
        try:
            suite = load_suite(project.kernels, project.cases, sides=project.sides)
            chosen = select_columns([CUDA_SIDE, DEFAULT_RUNNER], [self.cuda, self.other])
        except (UsageError, NotAvailable):  # the files declare no op, or nothing can execute CUDA's side
            return {}
        entries = tuple(entry for entry in suite.entries if entry.op.name in untried)
        rejected = "parity rejects the file that declares it: " + "; ".join(suite.problems)
        failed = dict.fromkeys(untried.keys() - suite.ops.keys(), rejected)
        run = Run(replace(suite, known=None), Selection(entries), chosen, Settings())
        end = math.inf

        def check_time(record: CaseRecord) -> None:
            if time.monotonic() > end:
                raise _OutOfTime

        with run_progress(shown) as (report, _):
            prepared = run.build()
            tasks = tuple(replace(task, shrink=False) for task in prepared.plan.tasks)
            prepared = replace(prepared, plan=replace(prepared.plan, tasks=tasks))
            end = time.monotonic() + self.limit * len(untried)
            results = prepared.execute(report, check_time)
        if isinstance(results.stopped, KeyboardInterrupt) and not isinstance(results.stopped, _OutOfTime):
            raise results.stopped
        reasons = ((record.op, _misdeclared(record, untried[record.op][1].doubt)) for record in results.records)
        return failed | {name: reason for name, reason in reasons if reason}

    def summary(self) -> int:
        """Report the ops that are comments, and those that always fault. Return the number of declared ops."""
        ops = [each for file in self.files.values() for each in file.ops if each.name]
        left = [each.name for each in ops if each.question or each.name in self.asked]
        for each in ops:
            if each.question.startswith(ALWAYS_FAULTS):
                _warn(f"{each.name}: {each.question}")
        if left:
            declared = f"{len(ops) - len(left)} of {len(ops)} ops are declared"
            _warn(f"{declared}; the others are comments that say what is to be completed: {', '.join(left)}")
        return len(ops) - len(left)


def _write_cases(
    project: Project, chosen: ChosenKernels, limit: float, *, quiet: bool = False
) -> tuple[list[Path], int]:
    """Write a case file for every module that compiles, or add the kernels that its file from parity init lacks.

    Returns the files and the number of ops that they declare.

    Raises:
        UsageError: a chosen name is neither a module nor a kernel, or the sources lack all kernels of the capture.
    """
    modules = find_modules(project.kernels, ported=project.sides.ported)
    modules = chosen.modules(modules)
    texts = HostTexts(project.kernels)
    modules = {name: path for name, path in modules.items() if chosen.has_source(texts.whole(path))}
    instantiated = {name: chosen.templates(texts.whole(path)) for name, path in modules.items()}
    settings = BuildSettings(project.sides, kernels=instantiated)
    try:
        with build_progress(len(modules)) as done:
            built = build(
                project.kernels, modules, [DEFAULT_TARGETS[0]], settings=settings, progress=BuildCallbacks(done)
            )
    except MissingTool as error:
        _warn(f"no case files are written, because nothing can be compiled: {error}")
        return [], 0
    cuda, files = _build_cuda(project, modules, settings), _CaseFiles(project, limit)
    prober, met, broken = Prober(limit), False, list[str]()
    for one, note in _reported(built, files):
        path = project.cases / f"{plain_name(one.module)}.py"
        text = texts.whole(modules[one.module])
        if one.error or not one.code_object:
            _warn(f"{one.module} does not compile, so it has no case file; see parity build")
            broken.append(one.module)
            continue
        source = modules[one.module].relative_to(project.kernels)
        # A kernel of a source that this one includes is declared there.
        others = texts.included_sources(modules[one.module])
        elsewhere = {name for each in built if modules[each.module] in others for name in _kernels(each)}
        kernels = [
            each
            for name, each in one.code_object.kernels.items()
            if chosen.has_kernel(one.module, name) and name not in elsewhere
        ]
        met |= bool(kernels)
        known = read_text(path) if path.exists() else ""
        if "__global__" in text and not one.code_object.kernels:
            _warn(f"{one.module} does not contain a kernel when it is compiled here; see parity build")
            broken.append(one.module)
        if kernels and (not known or is_inferred(known)):
            host = _HostCode(texts.launches(modules[one.module]), Structures(text), chosen.captured)
            for op in _skeletons(source, one.module, kernels, cuda, host, prober, known):
                files.add(path, source, op, try_it=cuda is not None)
                note(f"{one.module} {op.title}")
        if known and path not in files.files and not quiet:
            _warn(f"{path} exists already and is not changed")
    if chosen.captured and not met:
        raise UsageError(f"no source in {project.kernels} defines a kernel of the capture; see parity list --captured")
    if chosen.names and not met and not broken:
        raise UsageError(f"--only {','.join(chosen.names)}: no module and no kernel of {project.kernels} has this name")
    files.try_declarations()
    return [*files.files], files.summary()


def _kernels(built: Built) -> Mapping[str, Kernel]:
    return built.code_object.kernels if built.code_object else {}


def _reported(built: Sequence[Built], files: _CaseFiles) -> Iterator[tuple[Built, Callable[[str], None]]]:
    """Yield the modules and display the progress. After an interruption, say how to continue."""
    i = 0
    try:
        with run_progress() as (report, note):
            for i, one in enumerate(built):
                report("guessing", i, len(built))
                note(one.module)
                yield one, note
            i = len(built)
    finally:
        if i < len(built):
            files.write()
            done = f"{len(files.files)} case files are written"
            errors().print(f"parity: {done}; the same command continues with the remaining kernels")


def _misdeclared(record: CaseRecord, doubt: str) -> str:
    """Return why a failure shows nothing of the port, or an empty string. With ``doubt``, the sides may differ."""
    if not record.verdict.failed:
        return ""
    detail = record.verdict.detail.strip().splitlines()
    place = f"in {record.case}: {detail[0] if detail else record.verdict.kind}"
    if record.where.side == "cuda" or NEITHER_SIDE in record.verdict.detail:
        return f"with what was guessed, CUDA's side fails {place}"
    if record.verdict.kind == "vacuous":
        return f"with what was guessed, the cases show too little {place}"
    return f"{doubt}; AMD's side fails {place}" if doubt else ""


def _build_cuda(project: Project, modules: Mapping[str, Path], settings: BuildSettings) -> dict[str, Built] | None:
    """Build the CUDA side of each module. Return None without nvcc."""
    try:
        nvcc()
    except MissingTool:
        return None
    sources = {name: path for name, path in modules.items() if path.name.endswith(CUDA_SUFFIXES) and path.is_file()}
    with build_progress(len(sources)) as done:
        built = build(project.kernels, sources, [CUDA_TARGET], settings=settings, progress=BuildCallbacks(done))
    return {one.module: one for one in built}


@dataclass(frozen=True)
class _HostCode:
    """The launches of a module's kernels, by name without namespaces; the structures of its sources; and a capture."""

    launches: Mapping[str, Sequence[HostLaunch]]
    structures: Structures
    captured: CapturedKernels | None = None


def _skeletons(
    source: PurePath,
    module: str,
    kernels: Sequence[Kernel],
    built: Mapping[str, Built] | None,
    host: _HostCode,
    prober: Prober,
    known: str,
) -> Iterator[Skeleton]:
    """Return the ops of a module's kernels, from PTX and launches of CUDA's side if it compiles."""
    if built is None:
        return skeletons(source, module, kernels, structures=host.structures, launches=host.launches, known=known)
    side = built.get(module)
    cuda = side.code_object if side else None
    seen = flows(cuda.listing) if cuda else {}
    found, probes = {}, dict[str, Probe]()
    for symbol in (each.name for each in kernels):
        probes[symbol] = partial(_not_probed, side)
        other = cuda.symbol((spelled(symbol) or (symbol,))[-1]) if cuda else symbol
        if cuda and other in seen:
            found[symbol] = seen[other]
            probes[symbol] = partial(_probe, prober, cuda, other, host)
    return skeletons(source, module, kernels, found, probes, host.structures, host.launches, known)


def _not_probed(built: Built | None, args: Sequence[KernelArgument], flow: Flow | None, single: bool) -> str:
    """Return why a kernel was not executed."""
    if built is None or built.error is None:
        return "CUDA's side has no kernel of this name, so nothing was executed"
    first = next((f": {os.path.relpath(each.file)}:{each.line}: {each.advice}" for each in built.findings), "")
    return f"CUDA's side does not compile here, so nothing was executed{first}"


def _probe(
    prober: Prober,
    cuda: CodeObject,
    symbol: str,
    host: _HostCode,
    args: Sequence[KernelArgument],
    flow: Flow | None,
    single: bool,
) -> InferredSpec | str:
    assert flow
    kernel = ProbedKernel(cuda, symbol, args, flow, host.launches.get(unqualified(source_name(symbol)), ()))
    if host.captured:
        return host.captured.probe(prober, kernel, single=single)
    return prober.measure(kernel) or "no single launch shows it" if single else prober.probe(kernel)


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
