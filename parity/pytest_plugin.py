"""The pytest plugin: ``pytest --parity`` runs the suite of a project in addition to its tests, and prints the matrix.

pytest imports this module in every environment with parity, so the module imports the implementation only for
``--parity`` or the fixture ``parity_check``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from parity.suite.options import read_options

if TYPE_CHECKING:
    from parity.testing.checking import ParityCheck


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of ``parity run`` with the prefix ``--parity``."""
    group = parser.getgroup("parity", "conformance of CUDA and ROCm kernels")
    group.addoption("--parity", action="store_true", help="also run the cases of the project's kernels")
    for _, (flag, *_), settings in read_options("pytest", {}):
        name = flag.removeprefix("--")
        settings = {"metavar": name.upper(), **settings, "dest": f"parity_{name.replace('-', '_')}"}
        group.addoption(f"--parity-{name}", **settings)


@pytest.hookimpl(trylast=True)  # after Hypothesis has loaded its profile
def pytest_configure(config: pytest.Config) -> None:
    """Register the implementation if ``--parity`` is given.

    Raises:
        pytest.UsageError: The suite or a runner cannot be used.
    """
    if config.getoption("parity"):
        from parity.testing.plugin import SuitePlugin

        config.pluginmanager.register(SuitePlugin(config), "parity-suite")


@pytest.fixture(scope="session")
def parity_check() -> ParityCheck:
    """Checks a Python function or a kernel against the reference of an op; see ``parity.testing.ParityCheck``."""
    from parity.testing.checking import ParityCheck

    return ParityCheck()
