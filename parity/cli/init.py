"""Start a project: a kernel, a case file and the configuration; of kernels that are there, the skeletons of their ops.

They are compiled for one target, and every module gets a case file that declares its kernels with what the compiler
knows of their arguments. An op needs no reference: without one, AMD's results are judged by CUDA's side of the run. In
a project with settings, the case files are written that are not there yet. --ci writes what makes a CI run parity.
"""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Mapping
from pathlib import Path

from parity.application.static import CUDA
from parity.cli.skeleton import case_file
from parity.cli.terminal import building, errors, output
from parity.codeobject import CodeObject, spelled
from parity.errors import MissingTool, UsageError, shown
from parity.files import CUDA_SUFFIXES, below, text_of
from parity.suite import Project, find_project, settings_of
from parity.toolchain import DEFAULT_TARGETS, build, find_modules, nvcc
from parity.toolchain.ptx_dataflow import flows

__all__ = ["main", "options"]

TEMPLATE = Path(__file__).parents[1] / "template"
CONFIG = "pyproject.toml"
CI = {"github": ".github/workflows/parity.yml", "gitlab": ".gitlab-ci.yml"}
"""The file of a CI, by the name of its template."""
IGNORED = ("parity-out/", "__pycache__/")
"""What git is to ignore in a project."""
NEXT = (
    "next: look through {cases}, then {there}parity run, which executes CUDA's side on the CPU where there is nvcc "
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
    if _is_project(config):
        return _complete(folder, config, arguments.ci)
    written = []
    kernels, cases = folder / arguments.kernels, folder / arguments.cases
    has_own = kernels.is_dir() and any(below(kernels, *CUDA_SUFFIXES, ".hip"))
    if has_own:
        written = _skeletons(Project(kernels, cases))
    else:
        written = [_copy("kernels/leaky_relu.cu", kernels), _copy("cases/leaky_relu.py", cases)]
    table = f'[tool.parity]\nkernels = "{arguments.kernels}"\ncases = "{arguments.cases}"\n'
    try:
        before = text_of(config) if config.exists() else ""
        config.write_text(before + "\n" * bool(before) + table)
    except OSError as error:
        raise UsageError(f"cannot write {config}: {error.strerror}; choose another folder") from error
    console = output()
    for path in (*written, config, *_ci(folder, arguments.ci), *_ignore(folder)):
        console.print(f"wrote {path}")
    there = "" if folder.resolve() == Path.cwd() else f"cd {folder} && "
    steps = "run" if not has_own else "build"
    if has_own and written:
        console.print(NEXT.format(cases=shown(cases), there=there))
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
    before = text_of(path) if path.exists() else ""
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
    declared = _skeletons(project, quiet=True) if project.kernels.is_dir() else []
    written = [*declared, *_ci(folder, ci)]
    if not written:
        raise UsageError(f"{config} has a [tool.parity] already: this is a project; see it with parity list")
    for path in (*written, *_ignore(folder)):
        output().print(f"wrote {path}")
    if declared:
        output().print(NEXT.format(cases=shown(project.cases), there=""))
    return 0


def _skeletons(project: Project, *, quiet: bool = False) -> list[Path]:
    """Write a case file for every module that compiles and has none yet."""
    kernels, cases = project.kernels, project.cases
    modules = find_modules(kernels, ported=project.sides.ported)
    try:
        with building(len(modules)) as done:
            built = build(
                kernels,
                modules,
                [DEFAULT_TARGETS[0]],
                sides=project.sides,
                done=done,
            )
    except MissingTool as error:
        errors().print(f"parity: no case files are written, because nothing can be compiled: {error}", style="yellow")
        return []
    cuda = _cuda(project, modules)
    written = []
    for one in built:
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
            source = modules[one.module]
            written.append(_write(path, _case_file(source, kernels, one.code_object, cuda.get(one.module))))
        else:
            errors().print(
                f"parity: {one.module} has no kernel as it is compiled here; see parity build", style="yellow"
            )
    return written


def _cuda(project: Project, modules: Mapping[str, Path]) -> dict[str, CodeObject]:
    """The CUDA side of each module that compiles, by module; none where there is no nvcc."""
    try:
        nvcc()
    except MissingTool:
        return {}
    sources = {name: path for name, path in modules.items() if path.name.endswith(CUDA_SUFFIXES) and path.is_file()}
    with building(len(sources)) as done:
        built = build(project.kernels, sources, [CUDA], sides=project.sides, done=done)
    return {one.module: one.code_object for one in built if one.code_object}


def _case_file(source: Path, kernels: Path, code: CodeObject, cuda: CodeObject | None) -> str:
    """The case file of a module: its kernels with what the PTX of the CUDA side shows of them."""
    seen = flows(cuda.listing) if cuda else {}
    found = {}
    for symbol in code.kernels:
        other = cuda.symbol((spelled(symbol) or (symbol,))[-1]) if cuda else symbol
        if other in seen:
            found[symbol] = seen[other]
    text = text_of(source) if source.is_file() else ""
    return case_file(source.relative_to(kernels), code.module, code.kernels.values(), found, text)


def _is_project(config: Path) -> bool:
    return settings_of(config) is not None


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
