"""The pytest plugin: ``pytest --parity`` runs the suite of a project beside its tests, and ends with the matrix.

pytest imports this module wherever parity is installed, so it imports nothing else until ``--parity`` or the fixture
``parity_check`` asks for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from parity.suite.options import declare

if TYPE_CHECKING:
    from parity.testing.checking import ParityCheck

__all__ = ["parity_check", "pytest_addoption", "pytest_configure"]

OPTIONS = (
    *("runner", "target", "examples", "seed", "kernels", "hip", "cases", "toolchain", "launches", "hipify"),
    *("known-issues", "output"),
)
ALIASES = {"known-issues": ("--parity-known",)}
HERE = {
    "examples": {"help": "cases to draw per kernel (default: max_examples of --hypothesis-profile, or 20)"},
    "seed": {"help": "what cases are drawn from (default: --hypothesis-seed, or 0)"},
    "output": {"help": "write the matrix and the failures there, as parity run does"},
}
"""Texts and defaults that differ from those of the command line."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options; those of ``parity run``, with a prefix."""
    group = parser.getgroup("parity", "conformance of CUDA and ROCm kernels")
    group.addoption("--parity", action="store_true", help="run the cases of the project's kernels as well")
    for name in OPTIONS:
        declare(group.addoption, name, f"--parity-{name}", *ALIASES.get(name, ()), **HERE.get(name, {}))


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
