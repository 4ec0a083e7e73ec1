"""Start a project: a kernel, a case file and the configuration; where there are kernels, the configuration alone."""

from __future__ import annotations

import argparse
import os
import tomllib
from pathlib import Path

from parity.cli.terminal import output
from parity.errors import UsageError

__all__ = ["main", "options"]

TEMPLATE = Path(__file__).parents[1] / "template"
CONFIG = "pyproject.toml"


def options(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("folder", nargs="?", type=Path, default=Path(), metavar="DIR", help="default: this folder")
    parser.add_argument(
        "--kernels", default="kernels", metavar="DIR", help="folder of the .cu files (default: kernels)"
    )
    parser.add_argument("--cases", default="cases", metavar="DIR", help="folder of the case files (default: cases)")


def main(arguments: argparse.Namespace) -> int:
    """Write what is not there yet; nothing is overwritten."""
    folder, config = arguments.folder, arguments.folder / CONFIG
    _check(config)
    written = []
    kernels, cases = folder / arguments.kernels, folder / arguments.cases
    has_own = kernels.is_dir() and any(kernels.rglob("*.cu"))
    if not has_own:
        written = [_copy("kernels/leaky_relu.cu", kernels), _copy("cases/leaky_relu.py", cases)]
    table = f'[tool.parity]\nkernels = "{arguments.kernels}"\ncases = "{arguments.cases}"\n'
    try:
        before = config.read_text() if config.exists() else ""
        config.write_text(before + "\n" * bool(before) + table)
    except OSError as error:
        raise UsageError(f"cannot write {config}: {error.strerror}; choose another folder") from error
    console = output()
    for path in (*written, config):
        console.print(f"wrote {path}")
    there = "" if folder.resolve() == Path.cwd() else f"cd {folder} && "
    console.print(f"next: {there}parity {'build' if has_own else 'run'}")
    return 0


def _check(config: Path) -> None:
    try:
        document = tomllib.loads(config.read_text())
    except OSError:
        return
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{config} is not valid TOML: {error}") from error
    if "parity" in document.get("tool", {}):
        raise UsageError(f"{config} has a [tool.parity] already: this is a project; see it with parity list")


def _copy(name: str, folder: Path) -> Path:
    path = folder / Path(name).name
    if path.exists():
        raise UsageError(f"{path} exists already; move it away, or choose another folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text((TEMPLATE / name).read_text())
    except OSError as error:
        raise UsageError(f"cannot write {path}: {os.strerror(error.errno or 0)}; choose another folder") from error
    return path
