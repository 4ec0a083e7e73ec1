"""The pytest plugin: ``pytest --parity`` runs the suite of a project beside its tests, and ends with the matrix.

pytest imports this module wherever parity is installed, so it imports nothing else until ``--parity`` or the fixture
``parity_check`` asks for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from parity.testing.checking import ParityCheck

__all__ = ["parity_check", "pytest_addoption", "pytest_configure"]


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _positive(text: str) -> int:
    if not (text.isdecimal() and int(text)):
        raise ValueError
    return int(text)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options; those of ``parity run``, with a prefix."""
    group = parser.getgroup("parity", "conformance of CUDA and ROCm kernels")
    group.addoption("--parity", action="store_true", help="run the cases of the project's kernels as well")
    group.addoption(
        "--parity-runner", action="append", default=[], metavar="NAME", help="what executes (default: emulated)"
    )
    group.addoption(
        "--parity-target", action="extend", type=_names, default=[], metavar="T,..", help="targets, as of parity run"
    )
    group.addoption(
        "--parity-examples",
        type=_positive,
        metavar="N",
        help="cases to draw per kernel (default: max_examples of --hypothesis-profile, or 20)",
    )
    group.addoption(
        "--parity-seed", type=int, metavar="N", help="what cases are drawn from (default: --hypothesis-seed, or 0)"
    )
    group.addoption("--parity-kernels", metavar="DIR", help="folder of the .cu files")
    group.addoption("--parity-hip", metavar="DIR", help="folder of AMD's sources, if they are not to be hipified")
    group.addoption("--parity-cases", metavar="DIR", help="folder of the case files")
    group.addoption(
        "--parity-toolchain", metavar="NAME", help="what compiles for AMD targets, as --toolchain of parity run"
    )
    group.addoption("--parity-launches", metavar="WHICH", help="any or host, as --launches of parity run")
    group.addoption("--parity-hipify", metavar="NAME", help="what makes HIP of CUDA sources, as --hipify of parity run")
    group.addoption("--parity-known", metavar="FILE", help="failures to expect, as --known-issues of parity run")
    group.addoption(
        "--parity-output", metavar="DIR", help="write the matrix and the failures there, as parity run does"
    )


@pytest.hookimpl(trylast=True)  # after Hypothesis has loaded its profile
def pytest_configure(config: pytest.Config) -> None:
    """Bring in the rest, if it was asked for.

    Raises:
        pytest.UsageError: no usable suite, or no runner that works here.
    """
    if config.getoption("parity"):
        from parity.testing.plugin import SuitePlugin

        config.pluginmanager.register(SuitePlugin(config), "parity-suite")


@pytest.fixture(scope="session")
def parity_check() -> ParityCheck:
    """Checks a Python function, or a kernel, against the reference of an op: see ``parity.testing.ParityCheck``."""
    from parity.testing.checking import ParityCheck

    return ParityCheck()
