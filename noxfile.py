"""The chores of parity, one session each: ``nox -l`` lists them, ``nox -s NAME -- ARGUMENTS`` runs one."""

import tempfile
from pathlib import Path

import nox

nox.needs_version = ">=2024.4.15"
nox.options.sessions = ["tests", "lint", "typecheck"]
nox.options.reuse_existing_virtualenvs = True

# The values that CUDA gave on an H200, beside AMD code on this CPU.
RUNNERS = ("--runner", "emulated", "--runner", "recorded=reports/h200.zip")


@nox.session
def matrix(session: nox.Session) -> None:
    """Print the matrix: kernels down; CUDA as recorded, and AMD on the CPU, across (arguments: those of parity run)."""
    session.install("-e", ".[emulated]")
    session.env["PARITY_COMMAND"] = "nox -s matrix --"
    chosen = any(argument.startswith("--runner") for argument in session.posargs)
    session.run("parity", "run", *(() if chosen else RUNNERS), *session.posargs)


@nox.session
def tests(session: nox.Session) -> None:
    """Test parity itself (arguments: those of pytest)."""
    session.install("-e", ".[emulated]", "--group", "test")
    session.run("pytest", "-n", "auto", "--dist", "loadgroup", *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    """Check style and formatting with ruff."""
    session.install("--group", "lint")
    session.run("ruff", "check")
    session.run("ruff", "format", "--check")


@nox.session
def typecheck(session: nox.Session) -> None:
    """Check the types of parity with mypy."""
    session.install("-e", ".", "--group", "typecheck")
    session.run("mypy")


@nox.session
def wheel(session: nox.Session) -> None:
    """Build the wheel, install it away from the checkout, and run its suite there."""
    session.install("build")
    with tempfile.TemporaryDirectory() as folder:
        session.run("python", "-m", "build", "--outdir", folder)
        (built,) = Path(folder).glob("*.whl")
        session.install("--force-reinstall", "--no-deps", str(built))
        session.install(f"{built}[emulated]")
        with session.chdir(folder):
            session.run("python", "-m", "parity", "list")
            session.run("parity", "run", "affine", "--examples", "2")


@nox.session
def bench(session: nox.Session) -> None:
    """Measure the emulator, whole runs, and the loading of modules (arguments: selectors, --target)."""
    session.install("-e", ".[emulated]", "--group", "bench")
    for module in ("benchmarks.emulator", "benchmarks.throughput", "benchmarks.loading"):
        session.run("python", "-m", module, *session.posargs)


@nox.session
def soak(session: nox.Session) -> None:
    """Run 300,000 cases, 5 seeds on 3 targets (arguments: those of parity run); records stay in parity-out/."""
    session.install("-e", ".[emulated]")
    session.run("python", "-m", "benchmarks.soak", *session.posargs)
