"""Fixtures that the whole test suite shares."""

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

from parity.compilers.headers import hip_headers
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


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--thorough", action="store_true", help="run the tests of tests/thorough.txt, too")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "thorough: one of the tests that only --thorough runs")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the thorough tests, unless they are asked for: by the option, or one by its id."""
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


@pytest.fixture(scope="session", autouse=True)
def headers() -> None:
    """AMD's headers are found once for a process: a test that has a cache of its own does not fetch them again."""
    hip_headers()


@pytest.fixture(scope="session", autouse=True)
def whole_tables() -> Iterator[None]:
    """Tables are printed whole, whatever the width of the terminal that the tests are started from."""
    with pytest.MonkeyPatch.context() as environment:
        environment.delenv("COLUMNS", raising=False)
        yield


@pytest.fixture(scope="session", autouse=True)
def stubs_whatever_is_installed() -> Iterator[None]:
    """Builds use parity's stubs, whether this machine has the real libraries or not."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv(POLICY, "always")
        yield


@pytest.fixture(scope="session", autouse=True)
def not_in_github() -> Iterator[None]:
    """Runs within tests tell GitHub nothing, also where the tests are run by GitHub Actions."""
    with pytest.MonkeyPatch.context() as environment:
        environment.delenv("GITHUB_ACTIONS", raising=False)
        environment.delenv("GITHUB_STEP_SUMMARY", raising=False)
        yield


@pytest.fixture(scope="session", autouse=True)
def interruptible() -> None:
    """Ctrl-C interrupts these tests and the processes they start, even if they were started where it is ignored."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def cache() -> Cache:
    """The cache of whoever runs the tests: what is compiled for one test or process serves all others."""
    return Cache(default_root())


@pytest.fixture(scope="session")
def suite() -> Suite:
    """The suite of this repository."""
    return load_suite(ROOT / "kernels", ROOT / "cases")


@pytest.fixture(scope="session")
def conforms() -> Callable[[str, object], bool]:
    """Whether JSON data are what the committed schema of that name (``matrix``, a line of a ``record``) says."""

    @functools.cache
    def validator(name: str) -> jsonschema.Draft202012Validator:
        return jsonschema.Draft202012Validator(json.loads((ROOT / f"docs/schema/{name}.schema.json").read_text()))

    return lambda name, data: validator(name).is_valid(data)


@pytest.fixture(scope="session")
def data_of() -> Callable[[str], dict[str, object]]:
    """Takes the data out of the text of report.html."""

    def data(text: str) -> dict[str, object]:
        found = re.search(r'<script type="application/octet-stream" id="data">([^<]*)</script>', text)
        assert found
        return json.loads(gzip.decompress(base64.b64decode(found[1])))

    return data


@pytest.fixture
def h200(monkeypatch):
    """The emulator says that it is another device: as a class of its own, because what a class can do is remembered."""
    from parity.runners import emulated

    class Described(emulated.EmulatedRunner):
        def describe(self):
            return {"gpu": "NVIDIA H200", "driver": "580.1"}

    monkeypatch.setattr(emulated, "EmulatedRunner", Described)


@pytest.fixture
def stopwatch(monkeypatch):
    """A runner of that name, with invented times; called with other times, it has those."""
    import stopwatch as module

    monkeypatch.setitem(registry.BUILT_IN, "stopwatch", "stopwatch:current")
    module.use()
    return module.use


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Installs a module of runners, where every new process finds them, by their classes."""

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
