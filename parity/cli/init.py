"""Start a project: write a kernel, a case file and the configuration, or declare the kernels of an existing folder.

Existing kernels are compiled for one target. Each module gets a case file that declares its kernels with what the
compiler and launches show of their arguments. References are optional: without one, CUDA's side of the run judges
AMD's results. In a project with settings, only missing case files are written. --ci adds a workflow that runs parity.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path

from parity.application.case_files import CaseFiles, write_file
from parity.application.module_skeletons import HostCode, module_skeletons
from parity.build.result import Built
from parity.build.settings import BuildSettings
from parity.cli.shared.chosen_kernels import ChosenKernels, chosen_kernels, plain_name
from parity.cli.shared.init_builds import InitBuilds, case_file_of, kernels_in
from parity.cli.shared.terminal import build_progress, errors, output, run_progress, warn
from parity.compilers.cuda_toolkit import has_nvcc
from parity.compilers.targets import DEFAULT_TARGETS, TRITON_TARGETS
from parity.errors import MissingTool, UsageError, display_path, nearest, pluralize
from parity.inference.case_file import is_inferred
from parity.inference.host_launches import HostTexts
from parity.inference.kernel_time_limit import TimeLimit
from parity.inference.prober import Prober
from parity.inference.triton_inference import triton_skeletons
from parity.inference.triton_source import triton_kernels
from parity.model.code_object import Kernel, idle, source_name, unqualified
from parity.platform.files import find_below, read_text
from parity.platform.installation import NAME, install_command, origin
from parity.porting import (
    build_macros,
    find_modules,
    has_source,
    is_cuda_source,
    kernels_of,
    macros_of,
)
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
            warn(
                f"{parent} is a parity project already. This writes another project inside it; to declare more kernels "
                f"of that project, remove {display_path(config)} and run: parity init {parent}"
            )
            break
    written, declared = list[Path](), 0
    kernels, cases = folder / arguments.kernels, folder / arguments.cases
    has_own = kernels.is_dir() and has_source(kernels)
    if not has_own:
        written = [_copy("kernels/leaky_relu.cu", kernels), _copy("cases/leaky_relu.py", cases)]
    _write_settings(config, arguments.kernels, arguments.cases)
    if has_own:  # after the settings, so that a repeated parity init continues after an interruption
        written, declared = _write_cases(Project(kernels, cases), chosen, TimeLimit(arguments.limit))
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
        written.append(_write_settings(config, os.path.relpath(root, folder.resolve()), arguments.cases))
    project, roots = find_project(folder), [top, *(top / name for name in ("src", "python"))]
    limit = TimeLimit(arguments.limit)
    cases, prober = CaseFiles(project, limit, run_progress, TRITON_TARGETS[0], TRITON_TARGETS[1]), Prober(limit)
    for file in dict.fromkeys(each.path for each in kernels):
        own = [each for each in kernels if each.path == file]
        source = file.relative_to(project.kernels.resolve())
        module = plain_name(source.with_suffix("").as_posix())
        target = project.cases / f"{module}.py"
        if target.exists():
            warn(f"{target} exists already and is not changed")
            continue
        with run_progress() as (report, note):
            report("guessing", 0, len(own))
            for i, (kernel, op) in enumerate(
                triton_skeletons(project.kernels.resolve(), roots, module, own, prober), 1
            ):
                cases.add(target, source, op, try_it=True)
                report("guessing", i, len(own))
                note(f"{module} {kernel.name}")
        cases.try_after()
    cases.try_declarations()
    declared = _summarized(cases)
    for each in (*written, *cases.files, *_ignore(folder)):
        output().print(f"wrote {each}")
    output().print(_next(project.cases, declared))
    return 0 if declared else NOTHING_DECLARED


def _write_settings(config: Path, kernels: str, cases: str) -> Path:
    """Add the settings of a project to a file that has none."""
    before = read_text(config) if config.exists() else ""
    table = f'[tool.parity]\nkernels = "{kernels}"\ncases = "{cases}"\n'
    return write_file(config, before + "\n" * bool(before) + table)


def _ci(folder: Path, name: str | None) -> list[Path]:
    """Write the workflow of a CI unless it exists."""
    if name is None:
        return []
    path = folder / CI[name]
    if path.exists():
        warn(f"{path} exists already and is not changed")
        return []
    text = (TEMPLATE / "ci" / f"{name}.yml").read_text()
    if origin().is_local:
        warn(f"replace {NAME} in {path} by a Git URL or wheel of parity that the CI can install")
    else:
        text = text.replace(f"{NAME}[{CI_EXTRAS}]", origin().requirement(CI_EXTRAS))
    return [write_file(path, text)]


def _ignore(folder: Path) -> list[Path]:
    """Add the missing entries to .gitignore."""
    path = folder / ".gitignore"
    before = read_text(path) if path.exists() else ""
    if not (missing := [line for line in IGNORED if line not in before.splitlines()]):
        return []
    end = "\n" if before and not before.endswith("\n") else ""
    return [write_file(path, before + end + "".join(f"{line}\n" for line in missing))]


def _complete(folder: Path, config: Path, chosen: ChosenKernels, arguments: argparse.Namespace) -> int:
    """Write the case files and the workflow that a project lacks. Its settings remain unchanged.

    Raises:
        UsageError: the project lacks nothing.
    """
    project = find_project(folder)
    has_kernels = project.kernels.is_dir()
    files, declared = _write_cases(project, chosen, TimeLimit(arguments.limit), quiet=True) if has_kernels else ([], 0)
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
    lacks = f"; CUDA's side, which judges ops without a reference, needs nvcc: {install_command('nvcc')}"
    return f"next: {do} {display_path(cases)}, then {there}parity run{'' if has_nvcc() else lacks}"


def _write_cases(
    project: Project, chosen: ChosenKernels, limit: TimeLimit, *, quiet: bool = False
) -> tuple[list[Path], int]:
    """Write a case file for every module that compiles, or add the kernels that its file from parity init lacks.

    Returns the files and the number of ops that they declare.

    Raises:
        UsageError: a chosen name is neither a module nor a kernel, or the sources lack all kernels of the capture.
    """
    texts = HostTexts(project.kernels, project.sides.cuda)
    modules = _chosen_modules(project, chosen, texts)
    instantiated = {name: chosen.templates(texts.whole(path)) for name, path in modules.items()}
    settings = BuildSettings(project.sides, kernels=instantiated)
    builds = InitBuilds(project, modules, texts, chosen, limit)
    try:
        with build_progress(len(modules)) as done:
            settings = builds.choose(settings)
            settings, built = builds.with_templates(
                settings, builds.build(modules, [DEFAULT_TARGETS[0]], settings, done)
            )
    except MissingTool as error:
        warn(f"no case files are written, because nothing can be compiled: {error}")
        return [], 0
    settings, cuda = _build_cuda(builds, [each for each in built if kernels_in(each) and not each.error], settings)
    built = [each for each in built if each.module not in builds.slow]
    instantiated, few = (
        {plain_name(module): each for module, each in of.items()} for of in (settings.kernels, settings.chosen)
    )
    files = CaseFiles(project, limit, run_progress, instantiated=instantiated, chosen=few)
    prober, met, broken, shared = Prober(limit), False, [*builds.slow], dict[str, Kernel]()
    for module, seconds in builds.slow.items():
        warn(
            f"{module} has no case file: compiling it took more than {seconds:g} s; --limit sets the time for a kernel"
        )
    for one, note in _reported(built, files):
        text = texts.whole(modules[one.module])
        if one.error or not one.code_object:
            warn(f"{one.module} does not compile, so it has no case file; see parity build{one.first_finding}")
            broken.append(one.module)
            continue
        for kernel in kernels_of(text):
            if reason := one.code_object.refused.get(kernel):
                warn(f"{one.module} is built without {kernel}, which does not compile: {reason}")
        source = modules[one.module].relative_to(project.kernels)
        path, known = case_file_of(project, one.module)
        common = _kernels_of_headers(one, modules, texts)
        elsewhere = _kernels_of_other_sources(one, built, modules, texts)
        # The first module with a kernel of a header declares it.
        elsewhere |= {name for name, each in common.items() if shared.get(name) == each}
        kernels = [
            each
            for name, each in one.code_object.kernels.items()
            if chosen.has_kernel(one.module, name) and name not in elsewhere
        ]
        met |= bool(kernels)
        if "__global__" in text and not one.code_object.kernels:
            here = "does not contain a kernel when it is compiled here; see parity build"
            warn(f"{one.module} {here if kernels_of(text) else 'only declares kernels, which other files define'}")
            broken.append(one.module)
        if kernels and (not known or is_inferred(known)):
            host = _host_code(project, one, kernels, modules[one.module], texts, chosen)
            shared |= common
            # With chosen instances, the others do nothing.
            idles = idle(one.code_object) if one.module in settings.chosen else ()
            empty = [each for each in idles if "<" in source_name(each)]
            for op in module_skeletons(source, one.module, kernels, cuda, host, prober, known, empty):
                files.add(path, source, op, try_it=cuda is not None)
                note(f"{one.module} {op.title}")
            files.try_after()
        if known and path not in files.files and not quiet:
            warn(f"{path} exists already and is not changed")
    if chosen.captured and not met:
        raise UsageError(f"no source in {project.kernels} defines a kernel of the capture; see parity list --captured")
    if chosen.names and not met and not broken:
        raise _unknown(project, chosen.names, modules, texts)
    files.try_declarations()
    return [*files.files], _summarized(files)


def _chosen_modules(project: Project, chosen: ChosenKernels, texts: HostTexts) -> dict[str, Path]:
    """Return the modules to declare.

    Raises:
        UsageError: a chosen name is neither a module nor a kernel.
    """
    modules = chosen.modules(find_modules(project.kernels, ported=project.sides.ported))
    modules = {name: path for name, path in modules.items() if chosen.has_source(texts.whole(path))}
    named = {name: chosen.named(name, texts.whole(path)) for name, path in modules.items()}
    if unknown := [name for name in chosen.names if not any(name in each for each in named.values())]:
        raise _unknown(project, unknown, modules, texts)
    return {name: path for name, path in modules.items() if named[name] or not chosen.names}


def _host_code(
    project: Project, one: Built, kernels: Sequence[Kernel], path: Path, texts: HostTexts, chosen: ChosenKernels
) -> HostCode:
    """Return what the host's code and a capture show of the kernels of a module, whose file is ``path``."""
    flags = macros_of((*project.sides.cuda.flags, *(each.flag for each in one.switches)))
    macros = build_macros(texts.undefined_macros(path) - {*flags}, path.resolve()) | flags
    names = {unqualified(source_name(each.name)) for each in kernels}
    return HostCode(texts.launches(path, macros, names), texts.structures(path), chosen.captured)


def _kernels_of_other_sources(
    one: Built, built: Sequence[Built], modules: Mapping[str, Path], texts: HostTexts
) -> set[str]:
    """Return the kernels of sources that a module includes, which are declared there."""
    others = texts.included_sources(modules[one.module])
    found = {name for each in built if modules[each.module] in others for name in kernels_in(each)}
    parts = texts.kernels_of_other_parts(modules[one.module], one.part_of) if one.part_of else frozenset[str]()
    return found | {name for name in kernels_in(one) if unqualified(source_name(name)) in parts}


def _kernels_of_headers(one: Built, modules: Mapping[str, Path], texts: HostTexts) -> dict[str, Kernel]:
    """Return the kernels that a module has from headers, by symbol."""
    names = texts.kernels_of_headers(modules[one.module])
    return {name: each for name, each in kernels_in(one).items() if unqualified(source_name(name)) in names}


def _unknown(project: Project, names: Collection[str], modules: Mapping[str, Path], texts: HostTexts) -> UsageError:
    """Return the error for names that no module and no kernel has, with modules or kernels that have similar names."""
    parts = [module for module in modules if any(name.lower() in module.lower() for name in names)]
    known = [*modules, *(kernel for path in modules.values() for kernel in kernels_of(texts.own(path)))]
    meant = f"; did you mean {', '.join(parts[:3])}?" if parts else "".join(nearest(name, known) for name in names)
    return UsageError(f"--only {','.join(names)}: no module and no kernel of {project.kernels} has this name{meant}")


def _summarized(files: CaseFiles) -> int:
    """Report what is wrong with kernels, and the ops that are comments. Return the number of declared ops."""
    for name, reason in files.findings.items():
        warn(f"{name}: {reason}")
    for each in files.left_out:
        warn(f"{each.kernel}: {each.omitted}")
    if left := files.incomplete:
        declared = f"{files.declared} of {files.declared + len(left)} ops are declared"
        instances: dict[tuple[str, str], list[str]] = {}
        for each in left:
            instances.setdefault(each.template, []).append(each.name)
        names = (
            f"{first} and {pluralize(len(more), 'more instance')}" if more else first
            for first, *more in instances.values()
        )
        warn(f"{declared}; the others are comments that say what is to be completed: {', '.join(names)}")
    return files.declared


def _reported(built: Sequence[Built], files: CaseFiles) -> Iterator[tuple[Built, Callable[[str], None]]]:
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
            files.write_tried()
            done = f"{len(files.files)} case files are written"
            errors().print(f"parity: {done}; the same command continues with the remaining kernels")


def _build_cuda(
    builds: InitBuilds, built: Sequence[Built], settings: BuildSettings
) -> tuple[BuildSettings, dict[str, Built] | None]:
    """Build the CUDA side of each module. Return the settings and None without nvcc."""
    if not has_nvcc():
        return settings, None
    sources = [each for each in built if is_cuda_source(builds.modules[each.module])]
    with build_progress(len(sources)) as done:
        return builds.build_cuda(sources, settings, done)


def _copy(name: str, folder: Path) -> Path:
    path = folder / Path(name).name
    if path.exists():
        raise UsageError(f"{path} exists already; move it away, or choose another folder")
    return write_file(path, (TEMPLATE / name).read_text())
