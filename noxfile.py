"""Development sessions: ``nox -l`` lists them, ``nox -s NAME -- ARGUMENTS`` runs one."""

import csv
import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

import nox

nox.needs_version = ">=2024.4.15"
nox.options.sessions = ["tests", "lint", "typecheck"]
nox.options.reuse_existing_virtualenvs = True

# CUDA's values recorded on an H200, and AMD code emulated on this CPU.
RUNNERS = ("--runner", "emulated", "--runner", "recorded=reports/h200.zip")
with Path(__file__).parent.joinpath("parity", "compilers", "targets.csv").open() as table:
    TARGETS = tuple(row["name"] for row in csv.DictReader(table) if row["isa"])  # AMD targets
# Runners, and the extras that install what they need.
EXTRAS = {"emulated": "", "cuda": "[cuda,nvcc]", "rocm": "[emulated,rocm]"}
OUTPUT = Path("parity-out")


@nox.session
def matrix(session: nox.Session) -> None:
    """Print the matrix: recorded CUDA values and emulated AMD targets (arguments: options of parity run)."""
    session.install("-e", ".")
    session.env["PARITY_COMMAND"] = "nox -s matrix --"
    chosen = any(argument.startswith("--runner") for argument in session.posargs)
    session.run("parity", "run", *(() if chosen else RUNNERS), *session.posargs)


@nox.session
@nox.parametrize("target", TARGETS)
def parity(session: nox.Session, target: str) -> None:
    """Run the suite on the CPU for one AMD target; reports in parity-out/TARGET (arguments: options of parity run)."""
    session.install("-e", ".")
    session.env["PARITY_COMMAND"] = "nox -s matrix --"
    session.run("parity", "run", "--target", target, "--output", str(OUTPUT / target), *session.posargs)


@nox.session
def report(session: nox.Session) -> None:
    """Combine the runs of all targets in parity-out/ into one report.html (arguments: options of parity report)."""
    session.install("-e", ".")
    runs = [str(path.parent) for path in sorted(OUTPUT.glob("*/record.jsonl"))]
    if not runs:
        session.error(f"no run in a folder of {OUTPUT}; make one: nox -s \"parity(target='gfx1100')\"")
    session.run("parity", "report", *runs, "--output", str(OUTPUT / "report.html"), *session.posargs)


@nox.session
@nox.parametrize("runner", list(EXTRAS))
def record(session: nox.Session, runner: str) -> None:
    """Record a device's results in parity-out/RUNNER.zip and judge them (arguments: as for parity record)."""
    session.install("-e", f".{EXTRAS[runner]}")
    file = OUTPUT / f"{runner}.zip"
    session.run("parity", "record", "--runner", runner, "--output", str(file), *session.posargs)
    _replay(session, OUTPUT / runner, [str(file)])


@nox.session
def compare(session: nox.Session) -> None:
    """Compare recordings value by value, CUDA with AMD (arguments: their files; default: parity-out/*.zip)."""
    session.install("-e", ".")
    files = session.posargs or sorted(map(str, OUTPUT.glob("*.zip")))
    if not files:
        session.error(f"no recording in {OUTPUT}; make one on a machine with a GPU: nox -s \"record(runner='cuda')\"")
    _replay(session, OUTPUT / "compare", files)


def _replay(session: nox.Session, output: Path, files: Sequence[str]) -> None:
    runners = [argument for file in files for argument in ("--runner", f"recorded={file}")]
    session.run("parity", "run", *runners, "--output", str(output))


@nox.session
def tests(session: nox.Session) -> None:
    """Test parity itself (arguments: options of pytest; --thorough also runs slow tests)."""
    groups = ("test", "thorough") if "--thorough" in session.posargs else ("test",)
    session.install("-e", ".[emulated,nvcc]", *(f"--group={each}" for each in groups))
    # One process more than cores: tests wait for workers and compilers, and one process runs the last file alone.
    session.run("pytest", "-n", str((os.cpu_count() or 1) + 1), "--dist", "loadfile", *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    """Check style, formatting, prose, the schemas of GitHub and GitLab files, and the Dockerfile."""
    session.install("--group", "lint")
    session.run("ruff", "check")
    session.run("ruff", "format", "--check")
    session.run("python", "tests/check_prose.py")
    templates = Path("parity", "template", "ci")
    workflows = map(str, (*sorted(Path(".github", "workflows").glob("*.yml")), templates / "github.yml"))
    session.run("check-jsonschema", "--builtin-schema", "vendor.github-workflows", *workflows)
    actions = map(str, sorted(Path(".github", "actions").glob("*/action.yml")))
    session.run("check-jsonschema", "--builtin-schema", "vendor.github-actions", *actions)
    forms = sorted(Path(".github", "ISSUE_TEMPLATE").glob("[!c]*.yml"))
    session.run("check-jsonschema", "--builtin-schema", "vendor.github-issue-forms", *map(str, forms))
    session.run("check-jsonschema", "--builtin-schema", "vendor.gitlab-ci", str(templates / "gitlab.yml"))
    session.run("hadolint", "Dockerfile")


@nox.session
def typecheck(session: nox.Session) -> None:
    """Check types with mypy."""
    session.install("-e", ".", "--group", "typecheck")
    session.run("mypy")


@nox.session
def schema(session: nox.Session) -> None:
    """Write the JSON Schemas of matrix.json and record.jsonl to docs/schema."""
    session.install("-e", ".")
    session.run("python", "-m", "parity.report.schema", "docs/schema")


@nox.session
def docs(session: nox.Session) -> None:
    """Build the documentation in site/; a broken link is an error (arguments: options of mkdocs, such as serve)."""
    session.install("-e", ".", "--group", "docs")
    session.env["NO_MKDOCS_2_WARNING"] = "1"  # hide the theme's end-of-life notice
    session.run("mkdocs", *(session.posargs or ("build",)))


@nox.session
def vendor(session: nox.Session) -> None:
    """Download the libraries of report.html from npm, as vendor.csv lists them, and update their digests."""
    session.run("python", "-m", "benchmarks.vendor", external=True)


@nox.session
def release(session: nox.Session) -> None:
    """Build and check wheel and sdist in dist/, install the wheel outside of the checkout, and run its suite."""
    session.install("build", "twine")
    shutil.rmtree("dist", ignore_errors=True)
    session.run("python", "-m", "build", "--outdir", "dist")
    session.run("twine", "check", "--strict", *map(str, Path("dist").iterdir()))
    (wheel,) = Path("dist").absolute().glob("*.whl")
    session.install("--force-reinstall", "--no-deps", str(wheel))
    session.install(str(wheel))
    with tempfile.TemporaryDirectory() as folder, session.chdir(folder):
        session.run("python", "-m", "parity", "list")
        session.run("parity", "run", "affine", "--examples", "2")


@nox.session
def rocm(session: nox.Session) -> None:
    """Run the suite with the installed ROCm; the default arguments fit Debian 12 (arguments: options of parity run)."""
    session.install("-e", ".")
    session.run("parity", "doctor")
    usual = ("--target", "gfx1030,gfx90a", "--known-issues", "tests/compilers/hip52.toml")
    session.run("parity", "run", "--toolchain", "rocm", *(session.posargs or usual))


@nox.session(name="rocm-root", venv_backend="none")
def rocm_root(session: nox.Session) -> None:
    """Run suite and tests in a Debian root with ROCm 7.2; needs root rights (arguments: --check NAME, or a command)."""
    session.run("python3", "-m", "benchmarks.rocm_root", *session.posargs)


@nox.session(name="amd-runtime", venv_backend="none")
def amd_runtime(session: nox.Session) -> None:
    """Run whole ROCm programs on AMD's HIP runtime and emulated GPUs, in the root of rocm-root (options of pytest)."""
    libraries = "librocblas-dev libhipblas-dev libhipblaslt-dev libmiopen-dev librocrand-dev"
    tests = ("python", "-m", "pytest", "-q", "tests/hsa", *session.posargs)
    session.run("python3", "-m", "benchmarks.rocm_root", "--install", libraries, *tests)
    suite = ("python", "-m", "benchmarks.through_hip", "--amd", "--examples", "1")
    session.run("python3", "-m", "benchmarks.rocm_root", *suite)


@nox.session(name="amd-libraries", venv_backend="none")
def amd_libraries(session: nox.Session) -> None:
    """Run tests of AMD's libraries on emulated GPUs, in the root of rocm-root (programs, options of rocm_tests)."""
    tests = ("python", "-m", "benchmarks.rocm_tests", *session.posargs)
    session.run("python3", "-m", "benchmarks.rocm_root", *tests)


@nox.session
@nox.parametrize("example", ("torch", "array-api"))
def examples(session: nox.Session, example: str) -> None:
    """Install a third-party runner together with parity, and run its tests (arguments: options of pytest)."""
    session.install(".", f"examples/parity-{example}", "pytest", "--constraint", "examples/versions.txt")
    with session.chdir(f"examples/parity-{example}"):
        session.run("pytest", *session.posargs)


@nox.session
def triton(session: nox.Session) -> None:
    """Test Triton kernels, and run the kernels of Triton's tutorials (arguments: options of parity run)."""
    session.install("-e", ".[triton,nvcc]", "--group", "test")
    session.run("pytest", "tests/triton_kernels")
    with session.chdir("examples/triton"):
        chosen = session.posargs or ("--target", "sm_80,gfx90a,gfx942,gfx950,gfx1100,gfx1201")
        session.run("parity", "run", *chosen)


@nox.session
def bench(session: nox.Session) -> None:
    """Measure the emulator, whole runs, cold builds, loading and saving (arguments: selectors, --target)."""
    session.install("-e", ".", "--group", "bench")
    for module in (
        "benchmarks.emulator",
        "benchmarks.checked",
        "benchmarks.throughput",
        "benchmarks.cold",
        "benchmarks.loading",
        "benchmarks.saves",
    ):
        session.run("python", "-m", module, *session.posargs)


@nox.session
def mutants(session: nox.Session) -> None:
    """Plant faults in the suite's kernels, and print which ones are caught (arguments: options of parity mutate)."""
    session.install("-e", ".")
    session.run("parity", "mutate", *session.posargs)


@nox.session
@nox.parametrize("version", ("10", "7.2"))
def hip(session: nox.Session, version: str) -> None:
    """Run the suite through hip-python on emulated GPUs, and compare every bit (arguments: selectors, --target)."""
    session.install("-e", ".[rocm]", f"hip-python=={version}.*")
    session.run("python", "-m", "benchmarks.through_hip", *session.posargs)


@nox.session
def stubs(session: nox.Session) -> None:
    """Compare parity's stubs with the real libraries, every bit (arguments: libraries, --target)."""
    session.install("-e", ".")
    session.run("python", "-m", "benchmarks.stubs", *session.posargs)


@nox.session
def pictures(session: nox.Session) -> None:
    """Draw the pictures of README and docs; a Chromium must be installed."""
    session.install("-e", ".[nvcc]", "playwright")
    session.run("python", "-m", "benchmarks.pictures")


@nox.session
def gallery(session: nox.Session) -> None:
    """Run bugs of public ports before and after their fix: docs/gallery.md (arguments: names of projects)."""
    session.install("-e", ".[nvcc]")
    session.run("python", "-m", "gallery", *session.posargs)


@nox.session
def soak(session: nox.Session) -> None:
    """Run 1,000,000 cases, 10 seeds on 3 targets (arguments: --cases N, options of parity run); see parity-out/."""
    session.install("-e", ".")
    session.run("python", "-m", "benchmarks.soak", *session.posargs)


@nox.session
def robustness(session: nox.Session) -> None:
    """Try 10,000 mistakes, and kill, interrupt and terminate run, record, bench and pytest at 24 moments each."""
    session.install("-e", ".[emulated]", "--group", "test")
    session.run("python", "-m", "benchmarks.fuzz")
    session.run("python", "-m", "benchmarks.interrupts", *session.posargs)


@nox.session(name="second-opinion")
def second_opinion(session: nox.Session) -> None:
    """Compare the emulator with AMD's pseudo-code, every kernel in one case (arguments: selectors, --target)."""
    session.install("-e", ".[emulated]", "--group", "test")
    session.run("python", "tests/emulator/second_opinion.py", *session.posargs)
