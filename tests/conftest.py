"""Shared fixtures, and the selection of thorough tests."""

from __future__ import annotations

import base64
import functools
import gzip
import json
import os
import re
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import jsonschema
import pytest
from hypothesis import HealthCheck, settings

from parity.compilers.cuda_toolkit import nvcc
from parity.compilers.headers import available_headers
from parity.errors import MissingTool
from parity.platform.cache import Cache, default_root
from parity.porting.stubs import POLICY
from parity.runners import registry
from parity.suite.loading import Suite, load_suite

ROOT = Path(__file__).parent.parent
THOROUGH = [
    re.compile(line)
    for line in Path(__file__).with_name("thorough.txt").read_text().splitlines()
    if line and not line.startswith("#")
]
pytest_plugins = ["pytester"]
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--thorough", action="store_true", help="run the tests of tests/thorough.txt, too")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "thorough: one of the tests that only --thorough runs")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect thorough tests, unless ``--thorough`` or a test id on the command line selects them."""
    if config.option.thorough or any("::" in argument for argument in config.args):
        return
    kept, left_out = list[pytest.Item](), list[pytest.Item]()
    for item in items:
        (left_out if _is_thorough(item) else kept).append(item)
    config.hook.pytest_deselected(items=left_out)
    items[:] = kept


def _is_thorough(item: pytest.Item) -> bool:
    marked = item.get_closest_marker("thorough") is not None
    return marked or any(pattern.search(item.nodeid) for pattern in THOROUGH)


@pytest.fixture(scope="session")
def with_nvcc() -> Path:
    """The path of nvcc. Skips the test without it."""
    try:
        return nvcc()
    except MissingTool as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session", autouse=True)
def headers() -> None:
    """Find AMD's headers once per process, so that tests with a separate cache do not fetch them again."""
    available_headers()


@pytest.fixture(scope="session", autouse=True)
def whole_tables() -> Iterator[None]:
    """Print full tables, independent of the width of the terminal."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("COLUMNS", "1000")
        yield


@pytest.fixture(scope="session", autouse=True)
def stubs_whatever_is_installed() -> Iterator[None]:
    """Use parity's stubs in builds, even if the real libraries are installed."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv(POLICY, "always")
        yield


@pytest.fixture(scope="session", autouse=True)
def not_in_github() -> Iterator[None]:
    """Keep runs inside tests from reporting to GitHub Actions."""
    with pytest.MonkeyPatch.context() as environment:
        environment.delenv("GITHUB_ACTIONS", raising=False)
        environment.delenv("GITHUB_STEP_SUMMARY", raising=False)
        yield


@pytest.fixture(scope="session", autouse=True)
def interruptible() -> None:
    """Let Ctrl-C interrupt the tests and their processes, even if the caller ignores it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def cache() -> Cache:
    """The user's cache, so that all tests and processes share compiled code."""
    return Cache(default_root())


@pytest.fixture(scope="session")
def suite() -> Suite:
    """The suite of this repository."""
    return load_suite(ROOT / "kernels", ROOT / "cases")


@pytest.fixture(scope="session")
def conforms() -> Callable[[str, object], bool]:
    """Check whether JSON data conform to a committed schema (``matrix``, or ``record`` for a line of a record)."""

    @functools.cache
    def validator(name: str) -> jsonschema.Draft202012Validator:
        return jsonschema.Draft202012Validator(json.loads((ROOT / f"docs/schema/{name}.schema.json").read_text()))

    return lambda name, data: validator(name).is_valid(data)


@pytest.fixture(scope="session")
def data_of() -> Callable[[str], dict[str, object]]:
    """Extract the data from the text of report.html."""

    def data(text: str) -> dict[str, object]:
        found = re.search(r'<script type="application/octet-stream" id="data">([^<]*)</script>', text)
        assert found
        return json.loads(gzip.decompress(base64.b64decode(found[1])))

    return data


@pytest.fixture
def h200(monkeypatch):
    """Let the emulator describe itself as an H200, in a subclass because capabilities are cached by class."""
    from parity.runners import emulated

    class Described(emulated.EmulatedRunner):
        def describe(self):
            return {"gpu": "NVIDIA H200", "driver": "580.1"}

    monkeypatch.setattr(emulated, "EmulatedRunner", Described)


@pytest.fixture
def stopwatch(monkeypatch):
    """Register the runner ``stopwatch`` with invented times; call the fixture to set other times."""
    import stopwatch as module

    monkeypatch.setitem(registry.BUILT_IN, "stopwatch", "stopwatch:current")
    module.use()
    return module.use


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Install a module with runners where every new process finds it."""

    def install(module: str, text: str, **runners: str) -> None:
        (tmp_path / f"{module}.py").write_text(text)
        info = tmp_path / f"{module}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
        points = "".join(f"{name} = {module}:{kind}\n" for name, kind in runners.items())
        (info / "entry_points.txt").write_text(f"[parity.runners]\n{points}")
        monkeypatch.syspath_prepend(str(tmp_path))
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))

    return install


@pytest.fixture
def wheels(monkeypatch):
    """Compile with the wheels' compiler, also where a ROCm is installed."""
    monkeypatch.setenv("PARITY_TOOLCHAIN", "wheels")
